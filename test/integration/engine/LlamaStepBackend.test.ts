import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stepBackendConformance } from '../../../src/platform/conformance/stepBackendConformance.js';
import { LlamaStepBackend } from '../../../src/platform/node/index.js';
import { testAdapters } from './testAdapters.js';
import { testModels } from './testModels.js';

stepBackendConformance({
  name: 'llama.cpp, SmolLM2-135M',
  open: () => LlamaStepBackend.open({ model: testModels().chat, sequences: 4, contextTokens: 512, threads: 1 }),
  adapterPath: testAdapters()[0],
});

it('LlamaStepBackend leaves nothing behind that is no number, also of rows that are taken back, as drafted ones are', () => {
  const backend = LlamaStepBackend.open({ model: testModels().chat, sequences: 2, contextTokens: 512, threads: 1 });
  try {
    const prompt = backend.tokenize('The quick brown fox jumps over the lazy dog and runs away. '.repeat(5), { parseSpecial: false });
    const compute = (tokens: ArrayLike<number>, from: number): Float32Array => {
      const rows = Array.from(tokens, (token, index) => ({
        token,
        position: from + index,
        sequence: 0,
        wantLogits: index === tokens.length - 1,
      }));
      backend.decode(rows);
      return backend.logits(rows.length - 1).slice();
    };
    const next = prompt[0] as number;
    const whole = compute(prompt, 0);
    const expected = compute([next], prompt.length);
    backend.truncateSequence(0, prompt.length);
    const beyond = { path: testAdapters()[0], scale: 1e6 };
    const { digest } = backend.loadAdapter(beyond);
    for (const isForgotten of [false, true]) {
      backend.useAdapter({ digest, scale: beyond.scale });
      expect(() => compute(prompt.subarray(0, 7), prompt.length)).toThrow(expect.objectContaining({ code: 'ENGINE_STEP_FAILED' }));
      backend.useAdapter(null);
      backend.truncateSequence(0, prompt.length);
      if (isForgotten) {
        backend.truncateSequence(0, 0);
        expect(compute(prompt, 0).every((logit, token) => logit === whole[token])).toBe(true);
      }
      expect(compute([next], prompt.length).every((logit, token) => logit === expected[token])).toBe(true);
      backend.truncateSequence(0, prompt.length);
    }
  } finally {
    backend.close();
  }
}, 60_000);

describe('LlamaStepBackend refuses model files', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ostraka-model-'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const open = (path: string, digest: string) => () =>
    LlamaStepBackend.open({ model: { path, digest }, sequences: 1, contextTokens: 256, threads: 1 });
  const invalid = expect.objectContaining({ code: 'MODEL_INVALID' });

  it('that are missing, or of another digest', () => {
    expect(open(join(folder, 'none.gguf'), '')).toThrow(invalid);
    expect(open(testModels().chat.path, '0'.repeat(64))).toThrow(invalid);
  });

  it('that are no GGUF, of another version, or shorter than their header says', () => {
    const header = (version: number, tensors: bigint): Buffer => {
      const bytes = Buffer.alloc(64);
      bytes.write('GGUF', 'latin1');
      bytes.writeUInt32LE(version, 4);
      bytes.writeBigUInt64LE(tensors, 8);
      return bytes;
    };
    const files = { text: Buffer.from('no model'.repeat(8)), old: header(1, 1n), short: header(3, 1_000_000n), empty: Buffer.alloc(0) };
    for (const [name, bytes] of Object.entries(files)) {
      const path = join(folder, name);
      writeFileSync(path, bytes);
      expect(open(path, '')).toThrow(invalid);
    }
  });
});
