import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { platformError } from '../platform/index.js';
import { cliError } from './errors.js';
import { lockFolder } from './lockFolder.js';

const markerName = 'ostraka-data.json';
const format = 2;

/** What its format says of a data folder. */
export interface DataFolder {
  /** Rows carry a checksum: since format 2. A folder keeps the format it was made with. */
  readonly hasChecksums: boolean;
}

/**
 * Claims a folder for this process and checks who wrote it. The format and the engine are recorded in it. Errors: DATA_FOLDER_IN_USE,
 * DATA_FORMAT_NEWER (nothing is touched then), CONFIG_INVALID.
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  await mkdir(folder, { recursive: true });
  const marker = await readMarker(folder);
  if (marker && marker.format > format) {
    throw platformError(
      'DATA_FORMAT_NEWER',
      `${folder} has data format ${marker.format}, this version knows ${format}: use a newer Ostraka`,
    );
  }
  await lockFolder(folder);
  if (!marker) await writeFile(join(folder, markerName), `${JSON.stringify({ format, engine: 'lmdb' })}\n`);
  return { hasChecksums: (marker?.format ?? format) >= 2 };
}

const readMarker = async (folder: string): Promise<{ readonly format: number } | undefined> => {
  const text = await readFile(join(folder, markerName), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as { readonly format: number };
  } catch (error) {
    throw cliError('CONFIG_INVALID', `${join(folder, markerName)} is not what Ostraka wrote there`, { cause: error });
  }
};
