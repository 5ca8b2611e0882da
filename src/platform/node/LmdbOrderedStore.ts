import { statfs } from 'node:fs/promises';
import { constants } from 'node:os';
import { open, type RootDatabase } from 'lmdb';
import { assert } from '../../base/index.js';
import type { OrderedStore, ScanRange, StoreEntry, StoreWrite } from '../index.js';
import { platformError } from '../index.js';

/**
 * OrderedStore on LMDB (R3, R7). `overlappingSync` is off, so that a commit resolves after its fsync and not before; concurrent
 * commits share one. Keys are at most 1,978 bytes (LMDB's limit with 4 KiB pages).
 */
export class LmdbOrderedStore implements OrderedStore {
  readonly engineName = 'lmdb';
  readonly keyBytesMax = 1978;
  readonly #database: RootDatabase<Buffer, Buffer>;
  readonly #folder: string;
  #closed = false;

  /** `folder` exists; the store keeps its files there. */
  constructor(options: { readonly folder: string }) {
    this.#folder = options.folder;
    this.#database = open<Buffer, Buffer>({
      path: options.folder,
      noSubdir: false,
      keyEncoding: 'binary',
      encoding: 'binary',
      overlappingSync: false,
      // With it the library makes a promise of its own that nobody can hear reject when the disk is full.
      eventTurnBatching: false,
      commitDelay: 0,
      // Deleted pages must not reach the disk with old heap contents.
      noMemInit: false,
    });
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#demandOpen();
    return this.#database.get(toBuffer(key));
  }

  scan(range: ScanRange): StoreEntry[] {
    this.#demandOpen();
    const from = toBuffer(range.from);
    const to = toBuffer(range.to);
    const bounds = range.reverse
      ? { start: to, end: from, exclusiveStart: true, inclusiveEnd: true, reverse: true }
      : { start: from, end: to };
    return [...this.#database.getRange({ ...bounds, limit: range.entriesMax })];
  }

  async commit(writes: readonly StoreWrite[]): Promise<void> {
    this.#demandOpen();
    for (const { key } of writes)
      assert(key.length > 0 && key.length <= this.keyBytesMax, 'a store key is 1…1978 bytes', { bytes: key.length });
    try {
      await this.#database.batch(() => {
        for (const write of writes) this.#apply(write);
      });
    } catch (error) {
      throw await this.#toStoreError(error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#database.close();
  }

  // The promise of the whole batch carries the outcome; that of a single put would reject unheard.
  #apply(write: StoreWrite): void {
    const done =
      write.kind === 'put' ? this.#database.put(toBuffer(write.key), toBuffer(write.value)) : this.#database.remove(toBuffer(write.key));
    done.catch(() => undefined);
  }

  async #toStoreError(error: unknown): Promise<unknown> {
    const cause = await causeOf(error);
    if (await isFull(cause, this.#folder)) {
      return platformError('STORE_FULL', 'no room on the disk of the data folder: the write was refused whole, reads go on', { cause });
    }
    return platformError('STORE_DAMAGED', 'the disk of the data folder refused a write', { cause });
  }

  #demandOpen(): void {
    if (this.#closed) throw platformError('STORE_CLOSED', 'the store is closed: the shard is stopping');
  }
}

const toBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** lmdb rejects with a general error that carries the cause as one more promise. */
interface LmdbCommitError {
  readonly commitError?: Promise<unknown>;
}

const causeOf = async (error: unknown): Promise<unknown> => {
  try {
    await (error as LmdbCommitError).commitError;
    return error;
  } catch (cause) {
    return cause;
  }
};

// LMDB reports a short write on a full disk as EIO, so that the free space decides what it was.
const isFull = async (cause: unknown, folder: string): Promise<boolean> => {
  const { code } = cause as { readonly code?: number };
  if (code === constants.errno.ENOSPC || code === constants.errno.EDQUOT || code === mapFull) return true;
  if (code !== constants.errno.EIO) return false;
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < freeBytesMin;
};

const mapFull = -30792;
const freeBytesMin = 1024 * 1024;
