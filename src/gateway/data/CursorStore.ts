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
  ended: boolean;
  /** What the query threw while nobody read; the next reader gets it. */
  failure: unknown;
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
 * Cursors of one shard: read in batches, each within its time to live, which reading renews; bounded in number. What a cursor keeps counts
 * against the memory limit of its query.
 */
export class CursorStore {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #cursorsMax: number;
  /** In order of the last use. */
  readonly #open = new Map<string, OpenCursor>();
  #reserved = 0;

  constructor(parts: { readonly clock: Clock; readonly random: Random; readonly cursorsMax: number }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#cursorsMax = parts.cursorsMax;
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
    const idle = { kept: [], keptBytes: 0, ended: false, failure: undefined, busy: false, ahead: Promise.resolve() };
    const open: OpenCursor = { rows, cursor, ...options, ...idle, expiresAtMs: 0, timer: undefined };
    const result = await readBatch(open).catch((error: unknown) => {
      end(open);
      throw error;
    });
    if (open.ended && open.kept.length === 0) return { id: undefined, result, hasMore: false, extra: cursor.extra() };
    const id = `${this.#random.uint32()}${this.#random.uint32()}`;
    this.#renew(id, open);
    return { id, result, hasMore: true, extra: undefined };
  }

  /** The next batch. Errors: CURSOR_NOT_FOUND, CURSOR_BUSY, those of the query, QUERY_MEMORY_LIMIT. */
  async next(database: string, id: string): Promise<CursorBatch> {
    const open = this.#find(database, id);
    if (open.busy) throw gatewayError('CURSOR_BUSY', `cursor ${id} is read by another request`);
    open.busy = true;
    open.timer?.cancel();
    try {
      await open.ahead;
      if (open.failure !== undefined) throw open.failure;
      const result = await readBatch(open);
      const hasMore = !open.ended || open.kept.length > 0;
      open.busy = false;
      if (!hasMore) this.#open.delete(id);
      else if (this.#open.get(id) === open) this.#renew(id, open); // unless it was deleted meanwhile
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
    return this.#open.size + this.#reserved >= this.#cursorsMax;
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
    const retryAfterSeconds = Math.max(1, Math.ceil(Math.min(1000, ...expiries) / 1000));
    const message = `${this.#cursorsMax} cursors are open on this shard; read them to their end or delete them`;
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
    open.ahead = readAhead(open);
  }

  #drop(id: string, open: OpenCursor): void {
    this.#open.delete(id);
    open.timer?.cancel();
    end(open);
  }
}

const end = (open: OpenCursor): void => {
  open.abort();
  open.rows.return?.()?.catch(() => undefined); // the query ends with the abort it was just given
  release(open, open.kept.splice(0));
};

const pull = async (open: OpenCursor): Promise<void> => {
  const next = await open.rows.next();
  if (next.done) open.ended = true;
  else for (const value of next.value) keep(open, value);
};

const keep = (open: OpenCursor, value: JsonValue): void => {
  const bytes = open.cursor.held.hold(value);
  open.keptBytes += bytes;
  open.kept.push({ value, bytes });
};

const release = (open: OpenCursor, kept: readonly Kept[]): void => {
  let bytes = 0;
  for (const one of kept) bytes += one.bytes;
  open.keptBytes -= bytes;
  open.cursor.held.release(bytes);
};

/** Reads until a batch is full and it is known whether more follows. */
const readBatch = async (open: OpenCursor): Promise<JsonValue[]> => {
  while (!open.ended && open.kept.length <= open.batchSize) await pull(open);
  const batch = open.kept.splice(0, open.batchSize);
  release(open, batch);
  return batch.map(({ value }) => value);
};

/** Goes on until the end, the bound, or a reader that waits; the reader goes on from there. */
const readAhead = async (open: OpenCursor): Promise<void> => {
  try {
    while (!open.ended && !open.busy && open.keptBytes < open.aheadBytesMax) await pull(open);
  } catch (error) {
    open.failure = error;
  }
};
