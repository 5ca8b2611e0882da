import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkLmdbFile } from './checkLmdbFile.js';
import { LmdbOrderedStore } from './LmdbOrderedStore.js';

describe('checkLmdbFile', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-lmdb-'));
    file = join(folder, 'data.mdb');
    const store = new LmdbOrderedStore({ folder, removeReserveBytes: 0 });
    for (let key = 0; key < 50; key++)
      await store.commit([{ kind: 'put', key: Uint8Array.of(1, key), value: new Uint8Array(3000).fill(key) }]);
    await store.close();
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const overwrite = async (position: number, bytes: Uint8Array): Promise<void> => {
    const handle = await open(file, 'r+');
    await handle.write(bytes, 0, bytes.length, position);
    await handle.close();
  };
  const damaged = (message: string) => expect.objectContaining({ code: 'STORE_DAMAGED', message: expect.stringContaining(message) });

  it('passes a folder without a database, an empty file and a database', () => {
    expect(() => checkLmdbFile(folder)).not.toThrow();
    expect(() => checkLmdbFile(join(folder, 'nowhere'))).not.toThrow();
    truncateSync(file, 0);
    expect(() => checkLmdbFile(folder)).not.toThrow();
  });

  it.each([1, 4096, 40_000])('refuses one that lacks its last %s bytes, with both sizes', (missing) => {
    const { size } = statSync(file);
    truncateSync(file, size - missing);
    expect(() => new LmdbOrderedStore({ folder, removeReserveBytes: 0 })).toThrow(damaged(`it has ${size - missing} of ${size} bytes`));
  });

  it.each([0, 4096])('refuses one whose meta page at %s is gone', async (position) => {
    await overwrite(position, new Uint8Array(512));
    expect(() => new LmdbOrderedStore({ folder, removeReserveBytes: 0 })).toThrow(damaged('first pages are damaged'));
  });

  it('refuses a file that is something else', () => {
    writeFileSync(file, 'no database at all '.repeat(1000));
    expect(() => new LmdbOrderedStore({ folder, removeReserveBytes: 0 })).toThrow(damaged('no LMDB database'));
  });
});
