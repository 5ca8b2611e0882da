import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DiskAdapterFiles } from './DiskAdapterFiles.js';

const text = 'adapter';
const digest = createHash('sha256').update(text).digest('hex');

describe('adapter files on disk', () => {
  let root: string;
  let folder: string;
  const listener = createServer();
  beforeAll(async () => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'ostraka-adapter-files-')));
    folder = join(root, 'allowed');
    mkdirSync(join(folder, 'sub'), { recursive: true });
    mkdirSync(join(root, 'allowed-not'));
    for (const path of ['allowed/a.gguf', 'allowed/sub/b.gguf', 'outside.gguf', 'allowed-not/c.gguf'])
      writeFileSync(join(root, path), text);
    writeFileSync(join(folder, 'empty.gguf'), '');
    writeFileSync(join(folder, 'piped.gguf'), text);
    execFileSync('mkfifo', [join(folder, 'pipe'), join(folder, 'piped.gguf.evaluation.json')]);
    symlinkSync(join(root, 'outside.gguf'), join(folder, 'link.gguf'));
    symlinkSync(join(folder, 'a.gguf'), join(folder, 'inner.gguf'));
    symlinkSync(root, join(folder, 'up'));
    await new Promise<void>((listening) => listener.listen(join(folder, 'socket'), listening));
  });
  afterAll(() => {
    listener.close();
    rmSync(root, { recursive: true, force: true });
  });
  const open = (given: { readonly folder?: string; readonly bytesMax?: number } = {}) =>
    new DiskAdapterFiles({ folder: given.folder, listFile: join(root, 'adapters.json'), bytesMax: given.bytesMax ?? 1_000 });

  it('finds what lies below the folder, by a relative or an absolute path, links within it followed', async () => {
    const files = open({ folder });
    for (const path of ['a.gguf', join(folder, 'a.gguf'), 'sub/../a.gguf', 'inner.gguf'])
      expect(await files.describe(path)).toMatchObject({ path: join(folder, 'a.gguf'), digest, figures: { source: 'declared' } });
    expect(await files.describe('sub/b.gguf')).toMatchObject({ path: join(folder, 'sub/b.gguf') });
  });

  it.each([
    '../outside.gguf',
    'sub/../../outside.gguf',
    '../allowed-not/c.gguf',
    '/etc/passwd',
    '/no/such/file',
    '..',
    '.',
    'link.gguf',
    'up/outside.gguf',
  ])('refuses %s, which lies outside, alike whether it exists', async (path) => {
    await expect(open({ folder }).describe(path)).rejects.toMatchObject({
      code: 'ADAPTER_PATH_REFUSED',
      message: `adapter path ${path}: it does not lie below the folder that adapters may be loaded from`,
    });
  });

  it('without a folder takes absolute paths alone', async () => {
    expect(await open().describe(join(root, 'outside.gguf'))).toMatchObject({ digest });
    await expect(open().describe('outside.gguf')).rejects.toMatchObject({ code: 'ADAPTER_PATH_REFUSED' });
  });

  it.each([
    ['missing.gguf', /ENOENT/],
    ['sub', /no plain file/],
    ['socket', /no plain file/],
    ['pipe', /no plain file/],
    ['piped.gguf', /piped\.gguf\.evaluation\.json is no plain file/],
    ['empty.gguf', /it is empty/],
  ])('refuses %s', async (path, message) => {
    await expect(open({ folder }).describe(path)).rejects.toMatchObject({
      code: 'ADAPTER_INVALID',
      message: expect.stringMatching(message),
    });
  });

  it('refuses a file over the limit, and one whose evaluation is broken or of another adapter', async () => {
    await expect(open({ folder, bytesMax: 3 }).describe('a.gguf')).rejects.toMatchObject({ code: 'ADAPTER_INVALID' });
    const figures = { accuracyDelta: 0.5, baseAccuracy: 0.1, adapterAccuracy: 0.6, performanceDeltaP99Ms: 3 };
    const evaluations = ['{', '[]', JSON.stringify({ ...figures, adapterDigest: 'f'.repeat(64) })];
    for (const evaluation of evaluations) {
      writeFileSync(join(folder, 'sub/b.gguf.evaluation.json'), evaluation);
      await expect(open({ folder }).describe('sub/b.gguf')).rejects.toMatchObject({ code: 'ADAPTER_INVALID' });
    }
    writeFileSync(join(folder, 'sub/b.gguf.evaluation.json'), JSON.stringify({ ...figures, adapterDigest: digest }));
    expect(await open({ folder }).describe('sub/b.gguf')).toMatchObject({ figures: { ...figures, source: 'measured' } });
  });

  it.each(['no list at all', '{}', '[{"domain": 1}]'])('refuses a list that somebody else wrote (%s), naming the file', async (text) => {
    const listFile = join(folder, 'broken.json');
    writeFileSync(listFile, text);
    const files = new DiskAdapterFiles({ folder: undefined, listFile, bytesMax: 1000 });
    await expect(files.readSaved()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('broken.json') });
  });

  it('keeps the list of what was loaded', async () => {
    expect(await open().readSaved()).toEqual([]);
    const saved = [{ domain: 'law', path: '/a', digest, scale: 0.5, accuracyDelta: 0.7 }];
    await open().writeSaved(saved);
    expect(await open().readSaved()).toEqual(saved);
  });
});
