import { utf8 } from '../base/index.js';
import type { OrderedStore, StoreEntry, StoreWrite } from '../platform/index.js';
import { keyLayout, versionCodec } from './KeyLayout.js';
import type { Timestamp } from './Timestamp.js';

type RowKind = 'history' | 'current' | 'outcome';

/** A kind of rows that are not all looked at in this round. */
interface OpenPass {
  readonly kind: RowKind;
  readonly from: Uint8Array | undefined;
}

const newRound = (): OpenPass[] => (['history', 'current', 'outcome'] as const).map((kind) => ({ kind, from: undefined }));

/** What one step may go by. */
export interface GarbageStep {
  /** No snapshot before it is read any more. */
  readonly horizon: Timestamp;
  /** No outcome before it is asked for any more. */
  readonly outcomesKeptAfter: Timestamp;
  /** Numbers of the collections that exist; asked after the rows are found, so that a collection made meanwhile is not taken for a dropped one. */
  readonly liveCollections: () => Promise<ReadonlySet<number>>;
  /** Whether a commit of the document is on its way to the store: removing its row would remove what that commit is about to write. */
  readonly isBeingWritten: (collection: number, key: string) => boolean;
}

/**
 * Removes what no allowed snapshot can read: old versions whose successor is at or below the horizon, tombstones and outcomes below it,
 * rows of dropped collections. Works in rounds over all rows, in steps of `rowsMax` rows of one kind, so that a step is short; one durable
 * batch a step. The kinds take turns: many documents do not keep the outcomes waiting.
 */
export class GarbageCollector {
  readonly #store: OrderedStore;
  readonly #rowsMax: number;
  /** The next first. */
  #open = newRound();

  constructor(options: { readonly store: OrderedStore; readonly rowsMax: number }) {
    this.#store = options.store;
    this.#rowsMax = options.rowsMax;
  }

  /** A round has ended and the next has not begun. */
  get isRoundOver(): boolean {
    return this.#open.length === newRound().length && this.#open.every(({ from }) => from === undefined);
  }

  /** Returns how many rows went away. */
  async step(step: GarbageStep): Promise<number> {
    const { kind, from } = this.#open[0] as OpenPass;
    const range = keyLayout.all(kind);
    const rows = this.#store.scan({ from: from ?? range.from, to: range.to, entriesMax: this.#rowsMax });
    const live = rows.length > 0 && kind !== 'outcome' ? await step.liveCollections() : new Set<number>();
    const dead = rows.filter((row) => this.#isDead(kind, row, { ...step, live }));
    this.#advance(kind, rows);
    if (dead.length > 0)
      await this.#store.commit(
        dead.map(({ key }): StoreWrite => ({ kind: 'delete', key })),
        'reserve',
      );
    return dead.length;
  }

  #advance(kind: RowKind, rows: readonly StoreEntry[]): void {
    const others = this.#open.slice(1);
    const last = rows.at(-1);
    if (last && rows.length === this.#rowsMax) this.#open = [...others, { kind, from: keyAfter(last.key) }];
    else this.#open = others.length > 0 ? others : newRound();
  }

  #isDead(
    kind: RowKind,
    row: StoreEntry,
    { horizon, outcomesKeptAfter, live, isBeingWritten }: GarbageStep & { readonly live: ReadonlySet<number> },
  ): boolean {
    if (kind === 'outcome') return (JSON.parse(utf8.decode(row.value)) as { commitTimestamp: number }).commitTimestamp < outcomesKeptAfter;
    const collection = keyLayout.collectionOf(row.key);
    if (!live.has(collection)) return true;
    if (kind === 'history') return this.#successorOf(collection, row) <= horizon;
    // As it is now: a commit may have written it again while the collections were listed.
    const current = this.#store.get(row.key);
    if (!current) return false;
    const { document, timestamp } = versionCodec.decodeCurrent(current);
    if (document !== undefined || timestamp > horizon) return false;
    const key = keyLayout.keyOfCurrent(row.key);
    return !isBeingWritten(collection, key) && !this.#hasHistory(collection, key);
  }

  /** Timestamp of the version that replaced this one: readers at or after it do not need this one. */
  #successorOf(collection: number, row: StoreEntry): Timestamp {
    const key = keyLayout.keyOfHistory(row.key);
    const [newer] = this.#store.scan({ from: historyStart(collection, key), to: row.key, reverse: true, entriesMax: 1 });
    if (newer) return keyLayout.timestampOfHistory(newer.key);
    const current = this.#store.get(keyLayout.current(collection, key));
    return current ? versionCodec.decodeCurrent(current).timestamp : (0 as Timestamp);
  }

  #hasHistory(collection: number, key: string): boolean {
    return this.#store.scan({ from: historyStart(collection, key), to: keyLayout.historyEnd(collection, key), entriesMax: 1 }).length > 0;
  }
}

const historyStart = (collection: number, key: string): Uint8Array => keyLayout.history(collection, key, (2 ** 53 - 1) as Timestamp);

const keyAfter = (key: Uint8Array): Uint8Array => {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
};
