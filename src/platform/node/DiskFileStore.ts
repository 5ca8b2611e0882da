import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { assert } from '../../base/index.js';
import type { FileStore } from '../index.js';

const namePattern = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** FileStore in a folder. A write is a temporary file, fsync, rename, fsync of the folder, so that a name always holds a whole file. */
export class DiskFileStore implements FileStore {
  readonly #folder: string;

  constructor(options: { readonly folder: string }) {
    this.#folder = options.folder;
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    try {
      return await readFile(this.#path(name));
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async writeAtomic(name: string, bytes: Uint8Array): Promise<void> {
    const path = this.#path(name);
    const temporary = `${path}.tmp`;
    await mkdir(dirname(path), { recursive: true });
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  #path(name: string): string {
    assert(namePattern.test(name), 'a stored file has a plain relative name', { name });
    return join(this.#folder, name);
  }
}

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
