/** A range of document keys of one collection: `after` exclusive (undefined = from the start) to the collection's end. */
export interface ReadRange {
  readonly collection: number;
  readonly after: string | undefined;
}

/** Plain form, stored with a prepared transaction. */
export interface ReadSetJson {
  readonly keys: readonly string[];
  readonly ranges: readonly ReadRange[];
}

/** `collection/key` as the footprints name a document. Keys cannot hold a slash. */
export const documentName = (collection: number, key: string): string => `${collection}/${key}`;

/**
 * What a transaction has read: single keys, present or not, and ranges, so that a row that appears later counts (no phantoms, R6).
 * Nothing is ever dropped from it; over `readsMax` the transaction is refused by its owner.
 */
export class ReadSet {
  readonly #keys: Set<string>;
  readonly #ranges = new Map<number, string | undefined>();

  constructor(json: ReadSetJson = { keys: [], ranges: [] }) {
    this.#keys = new Set(json.keys);
    for (const { collection, after } of json.ranges) this.addRange(collection, after);
  }

  get size(): number {
    return this.#keys.size + this.#ranges.size;
  }

  addKey(collection: number, key: string): void {
    this.#keys.add(documentName(collection, key));
  }

  /** Ranges run to the end of the collection, so of two the earlier start covers both. */
  addRange(collection: number, after: string | undefined): void {
    const known = this.#ranges.get(collection);
    if (this.#ranges.has(collection) && (known === undefined || (after !== undefined && known <= after))) return;
    this.#ranges.set(collection, after);
  }

  covers(name: string): boolean {
    if (this.#keys.has(name)) return true;
    const slash = name.indexOf('/');
    const collection = Number(name.slice(0, slash));
    if (!this.#ranges.has(collection)) return false;
    const after = this.#ranges.get(collection);
    return after === undefined || name.slice(slash + 1) > after;
  }

  toJson(): ReadSetJson {
    return { keys: [...this.#keys], ranges: [...this.#ranges].map(([collection, after]) => ({ collection, after })) };
  }
}
