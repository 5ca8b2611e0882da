import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '../../base/index.js';
import type { FileStore } from '../index.js';
import { writeFileAtomic } from './writeFileAtomic.js';

const namePattern = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** FileStore in a folder. A name always holds a whole file. */
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
    await writeFileAtomic(this.#path(name), bytes);
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  #path(name: string): string {
    assert(namePattern.test(name), 'a stored file has a plain relative name', { name });
    return join(this.#folder, name);
  }
}
