import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256Hex } from '../../src/base/index.js';
import { encodeSketch, sketchModel } from '../support/GgufSketch.js';
import { HubServer } from '../support/HubServer.js';
import { runCommand } from '../support/runCommand.js';
import { writeTinyLlama } from '../support/tinyLlama.js';

describe('model files on this machine (R18)', () => {
  let folder: string;
  let file: string;
  const bytes = encodeSketch(sketchModel());
  const digest = sha256Hex(bytes);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-models-'));
    file = join(folder, 'tiny.gguf');
    writeFileSync(file, bytes);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const model = (...args: string[]) => runCommand(['model', ...args], { OSTRAKA_CACHE: folder });
  const refused = async (code: string, ...args: string[]): Promise<string> => {
    const result = await model(...args);
    expect([result.code, result.stderr.trim().split('\n').at(-1)]).toEqual([1, expect.stringContaining(`[${code}]`)]);
    return result.stderr;
  };
  const importedPath = () => join(folder, 'models', 'imported', 'own.gguf');

  it('imports a file under a name, lists and shows it with its digest, verifies and removes it', async () => {
    const imported = await model('import', file, '--name', 'own', '--json');
    expect(JSON.parse(imported.stdout)).toMatchObject({ name: 'own', kind: 'chat', digest, bytes: bytes.length, path: importedPath() });
    expect(JSON.parse((await model('list', '--json')).stdout).at(-1)).toMatchObject({
      name: 'own',
      origin: 'imported',
      path: importedPath(),
    });
    const shown = JSON.parse((await model('show', 'own', '--json', '--sequences', '2', '--context', '256')).stdout) as object;
    expect(shown).toMatchObject({
      name: 'own',
      digest,
      architecture: 'llama',
      quantisation: 'f32',
      contextTokensMax: 256,
      layers: 1,
      heads: 2,
      vocabulary: 288,
      hasChatTemplate: true,
      memory: { weightsBytes: bytes.length, cellsBytes: 2 * 256 * 64 },
    });
    expect((await model('remove', 'own')).stdout).toContain('own: removed');
    expect(readdirSync(join(folder, 'models', 'imported'))).toEqual([]);
  });

  it('verify names a damaged file and what to do, with exit code 1', async () => {
    await model('import', file, '--name', 'own');
    writeFileSync(importedPath(), readFileSync(importedPath()).fill(1, bytes.length - 32));
    expect(await refused('MODEL_INVALID', 'verify')).toContain('own is damaged: `ostraka model import FILE --name own --force`');
    expect(await refused('MODEL_INVALID', 'show', 'own')).toContain(digest);
  });

  it('quantises a file to another type, checks what was made, and refuses what it cannot do', async () => {
    const out = join(folder, 'small.gguf');
    const { stdout, code } = await model('quantize', file, '--type', 'Q8_0', '--out', out, '--json');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ file: out, quantisation: 'q8_0', digest: sha256Hex(readFileSync(out)) }),
    ]);
    expect(await refused('USAGE', 'quantize', file, '--type', 'q8_0', '--out', out)).toContain('--force');
    expect(await refused('USAGE', 'quantize', file, '--type', 'q99', '--out', out)).toContain('q4_k_m');
    expect(readdirSync(folder).filter((name) => name.includes('making'))).toEqual([]);
  });

  it('a quantising process that the system ends is told as such, and nothing is left', () => {
    const out = join(folder, 'small.gguf');
    const limited = `ulimit -f 8; exec "${process.execPath}" dist/src/cli/main.js model quantize "${file}" --type q8_0 --out "${out}"`;
    const { status, stderr } = spawnSync('bash', ['-c', limited], { encoding: 'utf8' });
    expect([status, stderr.trim().split('\n').at(-1)]).toEqual([1, expect.stringMatching(/\[(STORE_FULL|MODEL_INVALID)\]$/)]);
    expect(readdirSync(folder)).toEqual(['tiny.gguf']);
  });

  it('pulls a model from a hub, shows its digest, and refuses other bytes under the same name', async () => {
    const hub = await HubServer.start();
    const repository = { commit: 'a'.repeat(40), files: { 'small.gguf': bytes } };
    hub.repositories.set('owner/repo', repository);
    const name = 'hf:owner/repo/small.gguf';
    const run = (...args: string[]) => runCommand(['model', ...args], { OSTRAKA_CACHE: folder, HF_ENDPOINT: hub.url });
    try {
      const pulled = await run('pull', 'hf:owner/repo');
      expect([pulled.code, pulled.stdout]).toEqual([0, expect.stringContaining(`SHA-256 ${digest}, commit ${repository.commit}`)]);
      expect(JSON.parse((await model('list', '--json')).stdout).at(-1)).toMatchObject({ name, origin: 'hub', kind: 'chat', digest });
      repository.files['small.gguf'] = Buffer.from(bytes).fill(1, bytes.length - 32);
      const changed = await run('pull', name);
      expect([changed.code, changed.stderr]).toEqual([1, expect.stringContaining('[MODEL_CHANGED]')]);
      expect(await refused('HUB_UNKNOWN', 'pull', name)).toContain('HF_ENDPOINT');
      expect((await model('remove', name)).stdout).toContain('removed');
      expect(readdirSync(join(folder, 'models', 'hub'))).toEqual([]);
    } finally {
      await hub.stop();
    }
  });

  it('a disk that fills while a model is imported is told as such, and nothing is left', async () => {
    const large = join(folder, 'large.gguf');
    const values = new Float32Array(1 << 20);
    writeTinyLlama(large, { tensors: [{ name: 'large.weight', type: 'f32', dimensions: [1024, 1024], values }] });
    const limited = `ulimit -f 1024; exec "${process.execPath}" dist/src/cli/main.js model import "${large}" --name own`;
    const { status, stderr } = spawnSync('bash', ['-c', limited], { encoding: 'utf8', env: { ...process.env, OSTRAKA_CACHE: folder } });
    expect([status, stderr.trim().split('\n').at(-1)]).toEqual([1, expect.stringContaining('[STORE_FULL]')]);
    expect(readdirSync(join(folder, 'models'))).toEqual([]);
  });

  it('an engine that cannot fit is refused with the numbers before anything is started', async () => {
    const data = join(folder, 'data');
    const { code, stderr } = await runCommand(
      [
        'up',
        '--data',
        data,
        '--model',
        file,
        '--embedding-model',
        file,
        '--sequences',
        '256',
        '--context',
        '1048576',
        '--shards',
        '64',
        '--port',
        '38529',
      ],
      { OSTRAKA_CACHE: folder },
    );
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/64 shards need about \d+\.\d GB .* free of \d+\.\d GB: .*\[MODEL_TOO_LARGE\]\n$/),
    ]);
    expect(readdirSync(data).filter((name) => name === 'shards')).toEqual([]);
  });
});
