import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeSketch, sketchAdapter, sketchModel } from '../../test/support/GgufSketch.js';
import { sha256Hex } from '../base/index.js';
import { openModelRegistry } from './openModelRegistry.js';

describe('the models of a user on disk (R18)', () => {
  let folder: string;
  let file: string;
  const bytes = encodeSketch(sketchModel());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-cache-'));
    vi.stubEnv('OSTRAKA_CACHE', folder);
    file = join(folder, 'tiny.gguf');
    writeFileSync(file, bytes);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });

  const bring = (from: string, overwrite = false) =>
    openModelRegistry().import({ from, name: 'own', overwrite, signal: new AbortController().signal, onProgress: () => undefined });
  const ownPath = () => join(folder, 'models', 'imported', 'own.gguf');
  const ensure = () =>
    openModelRegistry().ensure({ name: 'own', kind: 'chat', signal: new AbortController().signal, onProgress: () => undefined });

  it('keeps a copy of its own under the name, with the digest, and forgets it when it is removed', async () => {
    await bring(file);
    writeFileSync(file, 'changed');
    expect(await ensure()).toEqual({ name: 'own', path: ownPath(), digest: sha256Hex(bytes) });
    await openModelRegistry().remove('own');
    expect([existsSync(ownPath()), (await openModelRegistry().list()).map(({ origin }) => origin)]).toEqual([false, ['pinned', 'pinned']]);
  });

  it.each<[string, Buffer, RegExp]>([
    ['a cut file', bytes.subarray(0, bytes.length - 64), /truncated/],
    ['an adapter', encodeSketch(sketchAdapter()), /adapter load/],
  ])('refuses %s and leaves nothing behind', async (_, wrong, reason) => {
    writeFileSync(file, wrong);
    await expect(bring(file)).rejects.toMatchObject({ code: 'MODEL_INVALID', message: expect.stringMatching(reason) });
    expect(readdirSync(join(folder, 'models'))).toEqual([]);
  });

  it.each(['pipe', 'endless', 'folder'])('copies nothing where no plain file is: %s', async (name) => {
    spawnSync('mkfifo', [join(folder, 'pipe')]);
    symlinkSync('/dev/zero', join(folder, 'endless'));
    mkdirSync(join(folder, 'folder'));
    await expect(bring(join(folder, name))).rejects.toMatchObject({
      code: 'MODEL_INVALID',
      message: expect.stringContaining('no plain file'),
    });
    expect(readdirSync(join(folder, 'models'))).toEqual([]);
  });

  it('takes a model whose record was damaged for a damaged model', async () => {
    await bring(file);
    writeFileSync(join(folder, 'models', 'imported', 'own.json'), '{"name":');
    await expect(ensure()).rejects.toMatchObject({ code: 'MODEL_INVALID', message: expect.stringContaining('--force') });
    expect((await bring(file, true)).digest).toBe(sha256Hex(bytes));
  });

  it('removes no model that a running process uses; one that has died uses nothing', async () => {
    await bring(file);
    mkdirSync(join(folder, 'uses'));
    const useOf = (pid: number): string => join(folder, 'uses', `${pid}.json`);
    const use = (pid: number) => writeFileSync(useOf(pid), JSON.stringify({ pid, start: '', paths: [ownPath()] }));
    use(process.pid);
    await expect(openModelRegistry().remove('own')).rejects.toMatchObject({ code: 'MODEL_IN_USE', data: { pids: [process.pid] } });
    rmSync(useOf(process.pid));
    use(spawnSync('true').pid);
    await openModelRegistry().remove('own');
    expect([existsSync(ownPath()), readdirSync(join(folder, 'uses'))]).toEqual([false, []]);
  });
});
