import { assert } from './assert.js';

/** A map of at most `entriesMax` entries; `get` and `set` make an entry the youngest, the oldest leaves first. */
export class LruMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #entriesMax: number;

  constructor(options: { readonly entriesMax: number }) {
    assert(options.entriesMax > 0, 'an LRU map has room for at least one entry');
    this.#entriesMax = options.entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }
}
