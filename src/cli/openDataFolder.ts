import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { platformError } from '../platform/index.js';
import { dataFormat } from './dataFormat.js';
import { cliError } from './errors.js';
import { lockFolder } from './lockFolder.js';
import { writeFileWhole } from './writeFileWhole.js';

/** What its format says of a data folder. */
export interface DataFolder {
  readonly hasChecksums: boolean;
}

/**
 * Claims a folder for this process and checks who wrote it. The format and the engine are recorded in it. Errors: DATA_FOLDER_IN_USE,
 * DATA_FORMAT_NEWER (nothing is touched then), CONFIG_INVALID.
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  await mkdir(folder, { recursive: true });
  const format = await readFormat(folder);
  const { newest } = dataFormat;
  if (format !== undefined && format > newest)
    throw platformError('DATA_FORMAT_NEWER', `${folder} has data format ${format}, this version knows ${newest}: use a newer Ostraka`);
  await lockFolder(folder);
  if (format === undefined)
    await writeFileWhole(markerOf(folder), `${JSON.stringify({ format: newest, engine: 'lmdb' })}\n`, { mode: 0o644 });
  return { hasChecksums: (format ?? newest) >= 2 };
}

const markerOf = (folder: string): string => join(folder, dataFormat.markerName);

/** Undefined in a new folder. */
const readFormat = async (folder: string): Promise<number | undefined> => {
  const text = await readFile(markerOf(folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const format = text === undefined ? undefined : dataFormat.of(text);
  if (text !== undefined && format === undefined)
    throw cliError('CONFIG_INVALID', `${markerOf(folder)} is not what Ostraka wrote there; see \`ostraka doctor\``);
  return format;
};
