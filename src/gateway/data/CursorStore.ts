import type { JsonValue } from '../../base/index.js';
import { baseError } from '../../base/index.js';
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

interface OpenCursor {
  readonly database: string;
  readonly rows: AsyncIterator<readonly JsonValue[], void>;
  readonly cursor: QueryCursor;
  readonly batchSize: number;
  readonly ttlMs: number;
  readonly abort: () => void;
  buffered: JsonValue[];
  ended: boolean;
  busy: boolean;
  timer: Timer | undefined;
}

export interface OpenOptions {
  /** The cursor is nobody's in another database. */
  readonly database: string;
  readonly batchSize: number;
  readonly ttlMs: number;
  /** Ends the query: the cursor is deleted, or its time is over. */
  readonly abort: () => void;
}

/** Cursors of one shard: read in batches, each within its time to live, which reading renews; bounded in number. */
export class CursorStore {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #cursorsMax: number;
  readonly #open = new Map<string, OpenCursor>();
  #reserved = 0;

  constructor(parts: { readonly clock: Clock; readonly random: Random; readonly cursorsMax: number }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#cursorsMax = parts.cursorsMax;
  }

  /** A place for a cursor, taken before its query runs: a query that has committed must not be refused for want of one. Errors: QUEUE_FULL. */
  reserve(): { release(): void } {
    if (this.#open.size + this.#reserved >= this.#cursorsMax) {
      throw baseError('QUEUE_FULL', `${this.#cursorsMax} cursors are open on this shard; read them to their end or delete them`);
    }
    this.#reserved++;
    let isHeld = true;
    return {
      release: () => {
        if (isHeld) this.#reserved--;
        isHeld = false;
      },
    };
  }

  /** The first batch; a cursor stays only when there is more. Errors: those of the query. */
  async first(cursor: QueryCursor, options: OpenOptions): Promise<CursorBatch> {
    const rows = cursor.blocks[Symbol.asyncIterator]() as AsyncIterator<readonly JsonValue[], void>;
    const open: OpenCursor = { rows, cursor, ...options, buffered: [], ended: false, busy: false, timer: undefined };
    const result = await read(open);
    if (open.ended && open.buffered.length === 0) return { id: undefined, result, hasMore: false, extra: cursor.extra() };
    const id = `${this.#random.uint32()}${this.#random.uint32()}`;
    this.#open.set(id, open);
    this.#renew(id, open);
    return { id, result, hasMore: true, extra: undefined };
  }

  /** The next batch. Errors: CURSOR_NOT_FOUND, CURSOR_BUSY, those of the query. */
  async next(database: string, id: string): Promise<CursorBatch> {
    const open = this.#find(database, id);
    if (open.busy) throw gatewayError('CURSOR_BUSY', `cursor ${id} is read by another request`);
    open.busy = true;
    open.timer?.cancel();
    try {
      const result = await read(open);
      const hasMore = !open.ended || open.buffered.length > 0;
      if (!hasMore) this.#open.delete(id);
      else if (this.#open.get(id) === open) this.#renew(id, open); // unless it was deleted meanwhile
      return { id, result, hasMore, extra: hasMore ? undefined : open.cursor.extra() };
    } catch (error) {
      this.#open.delete(id);
      throw error;
    } finally {
      open.busy = false;
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

  #find(database: string, id: string): OpenCursor {
    const open = this.#open.get(id);
    if (open?.database !== database)
      throw gatewayError('CURSOR_NOT_FOUND', `cursor ${id.slice(0, 40)} not found: read to its end, deleted, or its time ran out`);
    return open;
  }

  #renew(id: string, open: OpenCursor): void {
    open.timer?.cancel();
    open.timer = this.#clock.setTimer(open.ttlMs, () => this.#drop(id, open));
  }

  #drop(id: string, open: OpenCursor): void {
    this.#open.delete(id);
    open.timer?.cancel();
    open.abort();
    open.rows.return?.()?.catch(() => undefined); // the query ends with the abort it was just given
  }
}

/** Reads until a batch is full and it is known whether more follows. */
const read = async (open: OpenCursor): Promise<JsonValue[]> => {
  while (!open.ended && open.buffered.length <= open.batchSize) {
    const next = await open.rows.next();
    if (next.done) open.ended = true;
    else open.buffered.push(...next.value);
  }
  const result = open.buffered.slice(0, open.batchSize);
  open.buffered = open.buffered.slice(open.batchSize);
  return result;
};
