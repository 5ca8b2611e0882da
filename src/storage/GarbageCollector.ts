import { utf8 } from '../base/index.js';
import type { OrderedStore, StoreEntry, StoreWrite } from '../platform/index.js';
import { keyLayout, versionCodec } from './KeyLayout.js';
import type { Timestamp } from './Timestamp.js';

type RowKind = 'history' | 'current' | 'outcome';
const order: readonly RowKind[] = ['history', 'current', 'outcome'];

/**
 * Removes what no allowed snapshot can read: old versions whose successor is at or below the horizon, tombstones and outcomes below it,
 * rows of dropped collections. Works in steps of `rowsMax` rows with a cursor, so that a step is short; one durable batch a step.
 */
export class GarbageCollector {
  readonly #store: OrderedStore;
  readonly #rowsMax: number;
  #phase = 0;
  #cursor: Uint8Array | undefined;

  constructor(options: { readonly store: OrderedStore; readonly rowsMax: number }) {
    this.#store = options.store;
    this.#rowsMax = options.rowsMax;
  }

  /** `isLive` tells whether a collection still exists. Returns how many rows went away. */
  async step(horizon: Timestamp, isLive: (collection: number) => boolean): Promise<number> {
    const kind = order[this.#phase] as RowKind;
    const range = keyLayout.all(kind);
    const rows = this.#store.scan({ from: this.#cursor ?? range.from, to: range.to, entriesMax: this.#rowsMax });
    const dead = rows.filter((row) => this.#isDead(kind, row, horizon, isLive));
    this.#advance(rows);
    if (dead.length > 0) await this.#store.commit(dead.map(({ key }): StoreWrite => ({ kind: 'delete', key })));
    return dead.length;
  }

  #advance(rows: readonly StoreEntry[]): void {
    const last = rows.at(-1);
    if (last && rows.length === this.#rowsMax) {
      this.#cursor = keyAfter(last.key);
      return;
    }
    this.#cursor = undefined;
    this.#phase = (this.#phase + 1) % order.length;
  }

  #isDead(kind: RowKind, row: StoreEntry, horizon: Timestamp, isLive: (collection: number) => boolean): boolean {
    if (kind === 'outcome') return (JSON.parse(utf8.decode(row.value)) as { commitTimestamp: number }).commitTimestamp < horizon;
    const collection = keyLayout.collectionOf(row.key);
    if (!isLive(collection)) return true;
    if (kind === 'history') return this.#successorOf(collection, row) <= horizon;
    const version = versionCodec.decodeCurrent(row.value);
    return version.document === undefined && version.timestamp <= horizon && !this.#hasHistory(collection, keyLayout.keyOfCurrent(row.key));
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
