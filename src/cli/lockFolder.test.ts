import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockFolder } from './lockFolder.js';

describe('lockFolder', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ostraka-lock-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const holder = async (): Promise<number> => (JSON.parse(await readFile(join(folder, 'ostraka.lock'), 'utf8')) as { pid: number }).pid;

  it('is held by this process, and refused to another that asks meanwhile', async () => {
    await lockFolder(folder);
    expect(await holder()).toBe(process.pid);
    await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'DATA_FOLDER_IN_USE' });
    expect(await readdir(folder)).toEqual(['ostraka.lock']);
  });

  it.each([
    ['of a process that has ended', '{"pid":2147483646,"start":"1"}'],
    ['that a power cut left empty', ''],
    ['that a power cut left in part', '{"pid":'],
    ['that names no process', 'null'],
  ])('takes over a lock %s', async (_which, text) => {
    await writeFile(join(folder, 'ostraka.lock'), text);
    await lockFolder(folder);
    expect(await holder()).toBe(process.pid);
    expect(await readdir(folder)).toEqual(['ostraka.lock']);
  });
});
