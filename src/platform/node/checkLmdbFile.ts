import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { platformError } from '../index.js';

// Of the two meta pages that LMDB writes in turns, as lmdb-js lays them out on machines of 64 bits.
const magic = 0xbeefc0de;
const magicAt = 24;
const pageBytesAt = 48;
const lastPageAt = 144;
const transactionAt = 152;
const metaBytes = 160;

/**
 * Looks at a database file before the library maps it: one that is cut off or no database would end the process by a signal. A folder
 * without one is new. Errors: STORE_DAMAGED.
 */
export function checkLmdbFile(folder: string): void {
  const path = join(folder, 'data.mdb');
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const damaged = (why: string) => platformError('STORE_DAMAGED', `${path} ${why}`);
    const first = readMeta(file, 0);
    // An empty file is what a crash leaves of the very first start.
    if (first === undefined && fstatSync(file).size === 0) return;
    const second = first && readMeta(file, first.pageBytes);
    if (first === undefined || second === undefined) throw damaged('is no LMDB database: its first pages are damaged');
    const newest = second.transaction > first.transaction ? second : first;
    // The size is read last: the file grows before its meta page says so, also while another process writes.
    const neededBytes = (newest.lastPage + 1n) * BigInt(first.pageBytes);
    const { size } = fstatSync(file);
    if (BigInt(size) < neededBytes) throw damaged(`is cut off: it has ${size} of ${neededBytes} bytes`);
  } finally {
    closeSync(file);
  }
}

interface Meta {
  readonly pageBytes: number;
  readonly lastPage: bigint;
  readonly transaction: bigint;
}

function readMeta(file: number, position: number): Meta | undefined {
  const bytes = Buffer.alloc(metaBytes);
  if (readSync(file, bytes, 0, metaBytes, position) < metaBytes || bytes.readUInt32LE(magicAt) !== magic) return undefined;
  const pageBytes = bytes.readUInt32LE(pageBytesAt);
  const isPageSize = pageBytes >= 512 && pageBytes <= 65_536 && (pageBytes & (pageBytes - 1)) === 0;
  // The page size stands in the first meta page alone in some versions: the second is found by that of the first.
  if (position === 0 && !isPageSize) return undefined;
  return { pageBytes, lastPage: bytes.readBigUInt64LE(lastPageAt), transaction: bytes.readBigUInt64LE(transactionAt) };
}
