import { mkdir, open, rename, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import { platformError } from '../index.js';

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * Writes a file whole or not at all: a temporary file beside it, fsync, rename, fsync of the folder. Readable by its owner alone unless
 * `mode` says otherwise. Errors: STORE_FULL (nothing is left of the attempt, the old file stays), and those of the system.
 */
export async function writeFileAtomic(
  path: string,
  bytes: Uint8Array,
  options: { readonly mode: number } = { mode: 0o600 },
): Promise<void> {
  const temporary = `${path}.tmp`;
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeSynced(temporary, bytes, options.mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw isFull(error) ? platformError('STORE_FULL', `no room on the disk for ${path} (${bytes.length} bytes)`, { cause: error }) : error;
  }
  await syncFolder(dirname(path));
}

const isFull = (error: unknown): boolean => {
  const { code, errno } = error as NodeJS.ErrnoException;
  return fullCodes.has(code ?? '') || errno === -constants.errno.EDQUOT;
};

const writeSynced = async (path: string, bytes: Uint8Array, mode: number): Promise<void> => {
  const file = await open(path, 'w', mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
};

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
