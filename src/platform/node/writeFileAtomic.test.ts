import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeFileAtomic } from './writeFileAtomic.js';

describe('writeFileAtomic', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-atomic-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('writes a file and its folder, replaces one, and leaves nothing beside it', async () => {
    const path = join(folder, 'below', 'file');
    await writeFileAtomic(path, Buffer.from('first'));
    await writeFileAtomic(path, Buffer.from('second'), { mode: 0o644 });
    expect(readFileSync(path, 'utf8')).toBe('second');
    expect(readdirSync(join(folder, 'below'))).toEqual(['file']);
    expect(statSync(path).mode & 0o077).toBe(0o044 & ~process.umask());
  });

  it('what fails leaves the old file and no part of the new one', async () => {
    const path = join(folder, 'taken');
    await mkdir(path);
    writeFileSync(join(path, 'content'), 'stays');
    await expect(writeFileAtomic(path, Buffer.from('new'))).rejects.toThrow();
    expect(readFileSync(join(path, 'content'), 'utf8')).toBe('stays');
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});
