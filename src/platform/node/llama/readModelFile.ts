import { closeSync } from 'node:fs';
import type { OstrakaError } from '../../../base/index.js';
import { openPlainFile } from '../openPlainFile.js';
import { GgufFault } from './GgufFault.js';

/** Opens a GGUF file for `read`; what goes wrong becomes an error of `refuse`, made for the caller's kind of file. */
export function readModelFile<Result>(
  path: string,
  refuse: (reason: string, cause?: unknown) => OstrakaError,
  read: (file: number) => Result,
): Result {
  let file: number;
  try {
    ({ file } = openPlainFile(path));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw refuse(code === undefined ? message : `the file cannot be opened (${code})`, cause);
  }
  try {
    return read(file);
  } catch (cause) {
    if (cause instanceof GgufFault) throw refuse(cause.message, cause);
    throw refuse(`the file cannot be read: ${(cause as Error).message}`, cause);
  } finally {
    closeSync(file);
  }
}
