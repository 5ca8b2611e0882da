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
