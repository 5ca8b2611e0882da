import type { JsonValue } from '../../base/index.js';
import type { QueryCursor } from '../../execution/index.js';
import type { Clock, Random, Timer } from '../../platform/index.js';
import { gatewayError } from '../errors.js';

/** One batch of a cursor. `extra` stands in the last one. */
export interface CursorBatch {
  readonly id: string | undefined;
  readonly result: readonly JsonValue[];
  readonly hasMore: boolean;
  readonly extra: object | undefined;
}

/** Cursors are read to their end before their time is over: whoever waits for a place should look again sooner. */
const retryAfterMsMax = 60_000;

interface Kept {
  readonly value: JsonValue;
  readonly bytes: number;
}

interface OpenCursor extends OpenOptions {
  readonly rows: AsyncIterator<readonly JsonValue[], void>;
  readonly cursor: QueryCursor;
  /** Found and not yet read. */
  kept: Kept[];
  keptBytes: number;
  /** Of results that were there before they were read, until the last is. */
  bufferedBytes: number;
  ended: boolean;
  /** What the query threw while nobody read; the next reader gets it. */
  failure: unknown;
  /** The query has given its place back. */
  rests: boolean;
  busy: boolean;
  /** The work that goes on after an answer; settles without an error. */
  ahead: Promise<void>;
  expiresAtMs: number;
  timer: Timer | undefined;
}

export interface OpenOptions {
  /** The cursor is nobody's in another database. */
  readonly database: string;
  readonly batchSize: number;
  readonly ttlMs: number;
  /** Results are found ahead of the reader, about so many bytes: a short one soon holds no place of a running query. 0 for none. */
  readonly aheadBytesMax: number;
  /** Ends the query: the cursor is deleted, or its time is over. */
  readonly abort: () => void;
}

/**
 * Cursors of one shard: read in batches, each within its time to live, which reading renews; bounded in number and in bytes. What a
 * cursor keeps counts against the memory limit of its query while that runs. One that is not read holds no place of a running query.
 */
export class CursorStore {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: { readonly cursorsMax: number; readonly cursorsBytesMax: number };
  /** In order of the last use. */
  readonly #open = new Map<string, OpenCursor>();
  #reserved = 0;
  /** Of what all cursors keep. */
  #bytes = 0;

  constructor(parts: {
    readonly clock: Clock;
    readonly random: Random;
    readonly options: { readonly cursorsMax: number; readonly cursorsBytesMax: number };
  }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#limits = parts.options;
  }

  /**
   * A place for a cursor, taken before its query runs: a query that has committed must not be refused for want of one. Those whose time is
   * over make room, least recently used first. Errors: CURSORS_FULL.
   */
  reserve(): { release(): void } {
    if (this.#isFull()) this.#dropExpired();
    if (this.#isFull()) throw this.#full();
    this.#reserved++;
    let isHeld = true;
    return {
      release: () => {
        if (isHeld) this.#reserved--;
        isHeld = false;
      },
    };
  }

  /** The first batch; a cursor stays only when there is more. Errors: those of the query, QUERY_MEMORY_LIMIT. */
  async first(cursor: QueryCursor, options: OpenOptions): Promise<CursorBatch> {
    const rows = cursor.blocks[Symbol.asyncIterator]() as AsyncIterator<readonly JsonValue[], void>;
    const idle = {
      kept: [],
      keptBytes: 0,
      bufferedBytes: 0,
      ended: false,
      failure: undefined,
      rests: false,
      busy: false,
      ahead: Promise.resolve(),
    };
    const open: OpenCursor = { rows, cursor, ...options, ...idle, expiresAtMs: 0, timer: undefined };
    const result = await this.#readBatch(open).catch((error: unknown) => {
      this.#end(open);
      throw error;
    });
    if (open.ended && open.kept.length === 0) return { id: undefined, result, hasMore: false, extra: cursor.extra() };
    const id = `${this.#random.uint32()}${this.#random.uint32()}`;
    open.bufferedBytes = cursor.bufferedBytes;
    this.#bytes += cursor.bufferedBytes;
    this.#renew(id, open);
    return { id, result, hasMore: true, extra: undefined };
  }

  /**
   * The next batch. Errors: CURSOR_NOT_FOUND, CURSOR_BUSY; QUEUE_FULL where its query has no place to go on, which leaves the cursor as it
   * was; those of the query, QUERY_MEMORY_LIMIT.
   */
  async next(database: string, id: string): Promise<CursorBatch> {
    const open = this.#find(database, id);
    if (open.busy) throw gatewayError('CURSOR_BUSY', `cursor ${id} is read by another request`);
    if (open.rests && needsMore(open)) wake(open);
    open.busy = true;
    open.timer?.cancel();
    try {
      await open.ahead;
      if (open.failure !== undefined) throw open.failure;
      const result = await this.#readBatch(open);
      const hasMore = !open.ended || open.kept.length > 0;
      open.busy = false;
      if (!hasMore) {
        this.#open.delete(id);
        this.#releaseBuffered(open);
      } else if (this.#open.get(id) === open) this.#renew(id, open); // unless it was deleted meanwhile
      return { id, result, hasMore, extra: hasMore ? undefined : open.cursor.extra() };
    } catch (error) {
      this.#drop(id, open);
      throw error;
    }
  }

  /** Errors: CURSOR_NOT_FOUND. */
  delete(database: string, id: string): void {
    this.#drop(id, this.#find(database, id));
  }

  /** Ends all, when the shard stops. */
  close(): void {
    for (const [id, open] of this.#open) this.#drop(id, open);
  }

  #isFull(): boolean {
    return this.#open.size + this.#reserved >= this.#limits.cursorsMax || this.#bytes >= this.#limits.cursorsBytesMax;
  }

  // Timers fire late when the shard is busy, which is when places are short.
  #dropExpired(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [id, open] of this.#open) {
      if (!this.#isFull()) return;
      if (!open.busy && open.expiresAtMs <= nowMs) this.#drop(id, open);
    }
  }

  #full(): Error {
    const expiries = [...this.#open.values()].filter(({ busy }) => !busy).map(({ expiresAtMs }) => expiresAtMs - this.#clock.monotonicMs());
    const earliestMs = Math.min(retryAfterMsMax, ...expiries);
    const retryAfterSeconds = Math.max(1, Math.ceil(earliestMs / 1000));
    const message = `${this.#open.size} cursors are open on this shard and keep ${this.#bytes} bytes; read them to their end or delete them`;
    return gatewayError('CURSORS_FULL', message, { data: { retryAfterSeconds } });
  }

  #find(database: string, id: string): OpenCursor {
    const open = this.#open.get(id);
    if (open?.database !== database)
      throw gatewayError('CURSOR_NOT_FOUND', `cursor ${id.slice(0, 40)} not found: read to its end, deleted, or its time ran out`);
    return open;
  }

  #renew(id: string, open: OpenCursor): void {
    this.#open.delete(id);
    this.#open.set(id, open);
    open.expiresAtMs = this.#clock.monotonicMs() + open.ttlMs;
    open.timer = this.#clock.setTimer(open.ttlMs, () => this.#drop(id, open));
    open.ahead = this.#readAhead(open);
  }

  #drop(id: string, open: OpenCursor): void {
    this.#open.delete(id);
    open.timer?.cancel();
    this.#end(open);
  }

  #end(open: OpenCursor): void {
    open.abort();
    open.rows.return?.()?.catch(() => undefined); // the query ends with the abort it was just given
    this.#release(open, open.kept.splice(0));
    this.#releaseBuffered(open);
  }

  /** Idempotent: a cursor may be deleted while its last batch is read. */
  #releaseBuffered(open: OpenCursor): void {
    this.#bytes -= open.bufferedBytes;
    open.bufferedBytes = 0;
  }

  /**
   * Reads until a batch is full and it is known whether more follows; less of it, and perhaps none in the last, where the cursors of the
   * shard keep too much already.
   */
  async #readBatch(open: OpenCursor): Promise<JsonValue[]> {
    while (needsMore(open) && (open.kept.length === 0 || this.#bytes < this.#limits.cursorsBytesMax)) await this.#pull(open);
    const batch = open.kept.splice(0, open.batchSize);
    this.#release(open, batch);
    return batch.map(({ value }) => value);
  }

  /** Goes on until the end, a bound, or a reader that waits; the reader goes on from there. A query that is not at its end then rests. */
  async #readAhead(open: OpenCursor): Promise<void> {
    const goesOn = (): boolean =>
      !open.ended && !open.busy && open.keptBytes < open.aheadBytesMax && this.#bytes < this.#limits.cursorsBytesMax;
    try {
      while (!open.rests && goesOn()) await this.#pull(open);
    } catch (error) {
      open.failure = error;
    }
    if (open.rests || open.ended || open.busy || open.failure !== undefined) return;
    open.rests = true;
    open.cursor.place.leave();
  }

  async #pull(open: OpenCursor): Promise<void> {
    const next = await open.rows.next();
    if (next.done) open.ended = true;
    else for (const value of next.value) this.#keep(open, value);
  }

  #keep(open: OpenCursor, value: JsonValue): void {
    const bytes = open.cursor.held.hold(value);
    open.keptBytes += bytes;
    this.#bytes += bytes;
    open.kept.push({ value, bytes });
  }

  #release(open: OpenCursor, kept: readonly Kept[]): void {
    let bytes = 0;
    for (const one of kept) bytes += one.bytes;
    open.keptBytes -= bytes;
    this.#bytes -= bytes;
    open.cursor.held.release(bytes);
  }
}

const needsMore = ({ ended, kept, batchSize }: OpenCursor): boolean => !ended && kept.length <= batchSize;

/** Error QUEUE_FULL: others have all places. */
const wake = (open: OpenCursor): void => {
  open.cursor.place.take();
  open.rests = false;
};
