import { assert, compareBytes } from '../../src/base/index.js';
import { type ScanRange, type StoreEntry, type StoreWrite, withinBytes } from '../../src/platform/index.js';

/** The durable rows of one shard: they outlive its processes. */
export class SimDisk {
  /** While true, ordinary commits are refused with STORE_FULL; the reserve for removals does not run out. */
  isFull = false;
  readonly #rows: StoreEntry[] = [];

  get rowCount(): number {
    return this.#rows.length;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const at = this.#find(key);
    const row = this.#rows[at];
    return row !== undefined && compareBytes(row.key, key) === 0 ? row.value.slice() : undefined;
  }

  scan(range: ScanRange): StoreEntry[] {
    const from = this.#find(range.from);
    const to = Math.max(from, this.#find(range.to));
    const rows = range.reverse
      ? this.#rows.slice(Math.max(from, to - range.entriesMax), to).reverse()
      : this.#rows.slice(from, Math.min(to, from + range.entriesMax));
    return withinBytes(rows, range.valueBytesMax).map(({ key, value }) => ({ key: key.slice(), value: value.slice() }));
  }

  /** Changes one bit of a stored value, as a failing disk does; `pick` is a share of the rows, then of the bits. */
  damage(range: ScanRange, pick: { readonly row: number; readonly bit: number }): void {
    const from = this.#find(range.from);
    const row = this.#rows[from + Math.floor(pick.row * (this.#find(range.to) - from))];
    assert(row !== undefined, 'there is a row to damage');
    const bit = Math.floor(pick.bit * row.value.length * 8);
    const at = bit >> 3;
    row.value[at] = (row.value[at] as number) ^ (1 << (bit & 7));
  }

  apply(writes: readonly StoreWrite[]): void {
    for (const write of writes) {
      const at = this.#find(write.key);
      const row = this.#rows[at];
      const exists = row !== undefined && compareBytes(row.key, write.key) === 0;
      if (write.kind === 'put') this.#rows.splice(at, exists ? 1 : 0, { key: write.key.slice(), value: write.value.slice() });
      else if (exists) this.#rows.splice(at, 1);
    }
  }

  /** Index of the first row whose key is not before `key`. */
  #find(key: Uint8Array): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBytes((this.#rows[middle] as StoreEntry).key, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
