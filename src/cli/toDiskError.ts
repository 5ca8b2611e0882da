import { constants } from 'node:os';
import { platformError } from '../platform/index.js';

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** STORE_FULL for a disk or a quota that is full, any other error as it is. */
export function toDiskError(error: unknown, message: string): unknown {
  const { code, errno } = error as NodeJS.ErrnoException;
  const isFull = fullCodes.has(code ?? '') || errno === -constants.errno.EDQUOT;
  return isFull ? platformError('STORE_FULL', message, { cause: error }) : error;
}
