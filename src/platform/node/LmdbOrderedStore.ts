import { statfsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { assert } from '../../base/index.js';
import type { OrderedStore, ScanRange, StoreEntry, StoreRoom, StoreShortage, StoreWrite } from '../index.js';
import { describeShortage, platformError, withinBytes } from '../index.js';
import { BallastFile } from './BallastFile.js';
import { checkLmdbFile } from './checkLmdbFile.js';
import { planReserve, type ReservePlan } from './planReserve.js';
import { roomNeeded } from './roomNeeded.js';

/**
 * OrderedStore on LMDB (R3, R7). `overlappingSync` is off, so that a commit resolves after its fsync and not before; concurrent
 * commits share one. Keys are at most 1,978 bytes (LMDB's limit with 4 KiB pages).
 */
export class LmdbOrderedStore implements OrderedStore {
  readonly engineName = 'lmdb';
  readonly keyBytesMax = 1978;
  readonly #database: RootDatabase<Buffer, Buffer>;
  readonly #folder: string;
  readonly #ballast: BallastFile;
  readonly #reserveBytes: number;
  /** Until the first look: what filled the disk may have done so before this start. */
  #isFull = true;
  #closed = false;

  /** `folder` exists; the store keeps its files there, a ballast of `removeReserveBytes` among them. Errors: STORE_DAMAGED. */
  constructor(options: { readonly folder: string; readonly removeReserveBytes: number }) {
    this.#folder = options.folder;
    this.#reserveBytes = options.removeReserveBytes;
    this.#ballast = new BallastFile({ path: join(options.folder, 'reserve'), bytes: options.removeReserveBytes });
    checkLmdbFile(options.folder);
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
    this.#follow(this.#plan());
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  get shortage(): StoreShortage | undefined {
    return this.#isFull && !this.#closed ? { freeBytes: this.#freeBytes(), neededBytes: roomNeeded(this.#reserveBytes) } : undefined;
  }

  refreshRoom(): void {
    this.#demandOpen();
    this.#follow(this.#plan());
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
    return withinBytes(this.#database.getRange({ ...bounds, limit: range.entriesMax }), range.valueBytesMax);
  }

  async commit(writes: readonly StoreWrite[], room: StoreRoom = 'ordinary'): Promise<void> {
    this.#demandOpen();
    if (room === 'ordinary') this.#demandRoom();
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

  // With the ballast in place the disk itself refuses what is too much, and no look at it is needed. The look is synchronous, some
  // microseconds, so that batches keep their call order.
  #demandRoom(): void {
    if (this.#ballast.isHeld || this.#reserveBytes === 0) return;
    this.refreshRoom();
    if (this.#isFull) throw storeFull(this.shortage);
  }

  #plan(): ReservePlan {
    return planReserve({
      reserveBytes: this.#reserveBytes,
      isHeld: this.#ballast.isHeld,
      isFull: this.#isFull,
      diskFreeBytes: freeBytesOf(this.#folder),
      storeFreeBytes: this.#freePages() * pageBytes,
    });
  }

  #follow(plan: ReservePlan): void {
    this.#isFull = plan.isFull;
    if (plan.ballast === 'write') this.#ballast.hold();
    if (plan.ballast === 'release') this.#ballast.release();
  }

  #freeBytes(): number {
    return freeBytesOf(this.#folder) + this.#freePages() * pageBytes;
  }

  #freePages(): number {
    const { lastPageNumber, root, free } = this.#database.getStats() as LmdbStats;
    return lastPageNumber - 1 - pagesOf(root) - pagesOf(free);
  }

  // The promise of the whole batch carries the outcome; that of a single put would reject unheard.
  #apply(write: StoreWrite): void {
    const done =
      write.kind === 'put' ? this.#database.put(toBuffer(write.key), toBuffer(write.value)) : this.#database.remove(toBuffer(write.key));
    done.catch(() => undefined);
  }

  async #toStoreError(error: unknown): Promise<unknown> {
    const cause = await causeOf(error);
    if (saysDiskFull(cause, this.#folder)) {
      this.#isFull = this.#reserveBytes > 0;
      this.#ballast.release();
      return storeFull(this.shortage, cause);
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

const storeFull = (shortage: StoreShortage | undefined, cause?: unknown): unknown => {
  const text = `no room on the disk of the data folder${describeShortage(shortage)}: the write was refused whole, reads go on`;
  return platformError('STORE_FULL', text, { cause, ...(shortage && { data: { ...shortage } }) });
};

// LMDB reports a short write on a full disk as EIO, so that the free space decides what it was.
const saysDiskFull = (cause: unknown, folder: string): boolean => {
  const { code } = cause as { readonly code?: number };
  if (code === constants.errno.ENOSPC || code === constants.errno.EDQUOT || code === mapFull) return true;
  if (code !== constants.errno.EIO) return false;
  return freeBytesOf(folder) < freeBytesMin;
};

const freeBytesOf = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

interface LmdbTree {
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/** What the library's statistics hold; it declares them as an empty object. */
interface LmdbStats {
  readonly lastPageNumber: number;
  readonly root: LmdbTree;
  readonly free: LmdbTree;
}

const pagesOf = ({ treeBranchPageCount, treeLeafPageCount, overflowPages }: LmdbTree): number =>
  treeBranchPageCount + treeLeafPageCount + overflowPages;

const pageBytes = 4096;

const mapFull = -30792;
const freeBytesMin = 1024 * 1024;
