import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDataFolder } from './openDataFolder.js';

describe('openDataFolder', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ostraka-folder-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const marker = (): string => join(folder, 'ostraka-data.json');

  it('makes a new folder with checksums, and knows it again', async () => {
    expect(await openDataFolder(folder)).toEqual({ hasChecksums: true });
    expect(JSON.parse(await readFile(marker(), 'utf8'))).toEqual({ format: 2, engine: 'lmdb' });
  });

  it('leaves a folder of format 1 as it was made: without checksums', async () => {
    const old = '{"format":1,"engine":"lmdb"}\n';
    await writeFile(marker(), old);
    expect(await openDataFolder(folder)).toEqual({ hasChecksums: false });
    expect(await readFile(marker(), 'utf8')).toBe(old);
  });

  it('does not touch a folder of a newer version', async () => {
    await writeFile(marker(), '{"format":3}');
    await expect(openDataFolder(folder)).rejects.toMatchObject({ code: 'DATA_FORMAT_NEWER' });
  });
});
