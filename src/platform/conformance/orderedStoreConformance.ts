import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OrderedStore, StoreWrite } from '../index.js';

export interface OrderedStoreSubject {
  readonly name: string;
  /** A new, empty store. */
  readonly open: () => Promise<OrderedStore>;
  /** Ends the store without any warning and opens what its disk holds; both as one process after another would. */
  readonly reopen: (store: OrderedStore) => Promise<OrderedStore>;
  readonly dispose: (store: OrderedStore) => Promise<void>;
}

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);
const put = (key: Uint8Array, value: Uint8Array): StoreWrite => ({ kind: 'put', key, value });
const remove = (key: Uint8Array): StoreWrite => ({ kind: 'delete', key });
const plain = (value: Uint8Array | undefined): readonly number[] | undefined => value && [...value];

/** What every OrderedStore keeps. */
export function orderedStoreConformance({ name, open, reopen, dispose }: OrderedStoreSubject): void {
  describe(`OrderedStore: ${name}`, () => {
    let store: OrderedStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => dispose(store));

    const keys = (range: Partial<Parameters<OrderedStore['scan']>[0]>): readonly (readonly number[])[] =>
      store.scan({ from: bytes(0), to: bytes(255, 255), entriesMax: 100, ...range }).map(({ key }) => [...key]);

    it('reads what was committed, and nothing else', async () => {
      await store.commit([put(bytes(1), bytes(10, 0, 255)), put(bytes(2), bytes())]);
      expect(plain(store.get(bytes(1)))).toEqual([10, 0, 255]);
      expect(plain(store.get(bytes(2)))).toEqual([]);
      expect(store.get(bytes(3))).toBeUndefined();
    });

    it('shows a batch as a whole, and only once it is acknowledged', async () => {
      const committed = store.commit([put(bytes(1), bytes(1)), put(bytes(2), bytes(2))]);
      const before = [store.get(bytes(1)), store.get(bytes(2))];
      await committed;
      expect(before).toEqual([undefined, undefined]);
      expect(keys({})).toEqual([[1], [2]]);
    });

    it('applies concurrent batches in call order', async () => {
      await Promise.all(
        [1, 2, 3, 4, 5].map((value) => store.commit([put(bytes(7), bytes(value)), remove(bytes(8)), put(bytes(8), bytes(value))])),
      );
      expect([plain(store.get(bytes(7))), plain(store.get(bytes(8)))]).toEqual([[5], [5]]);
    });

    it('orders keys as unsigned bytes, a prefix before what it begins', async () => {
      const unordered = [bytes(2), bytes(1, 255), bytes(200), bytes(1), bytes(1, 0), bytes(127, 255), bytes(128)];
      await store.commit(unordered.map((key) => put(key, bytes(0))));
      expect(keys({})).toEqual([[1], [1, 0], [1, 255], [2], [127, 255], [128], [200]]);
    });

    it('scans from inclusive to exclusive, at most so many, either way', async () => {
      await store.commit([1, 2, 3, 4, 5].map((key) => put(bytes(key), bytes(key))));
      expect(keys({ from: bytes(2), to: bytes(4) })).toEqual([[2], [3]]);
      expect(keys({ from: bytes(2), entriesMax: 2 })).toEqual([[2], [3]]);
      expect(keys({ from: bytes(2), to: bytes(5), reverse: true })).toEqual([[4], [3], [2]]);
      expect(keys({ from: bytes(2), to: bytes(5), reverse: true, entriesMax: 1 })).toEqual([[4]]);
      expect(keys({ from: bytes(9) })).toEqual([]);
    });

    it('ends a scan with the entry whose value reaches about the bytes that are asked for, either way', async () => {
      await store.commit([1, 2, 3, 4].map((key) => put(bytes(key), new Uint8Array(1000))));
      expect(keys({ valueBytesMax: 1 })).toEqual([[1]]);
      expect(keys({ valueBytesMax: 2000 })).toEqual([[1], [2]]);
      expect(keys({ valueBytesMax: 2100, reverse: true })).toEqual([[4], [3], [2]]);
      expect(keys({ valueBytesMax: 100_000 })).toHaveLength(4);
    });

    it('removes keys; removing an absent one is nothing', async () => {
      await store.commit([put(bytes(1), bytes(1)), put(bytes(2), bytes(2))]);
      await store.commit([remove(bytes(1)), remove(bytes(9))]);
      expect(keys({})).toEqual([[2]]);
    });

    it('hands out copies', async () => {
      await store.commit([put(bytes(1), bytes(1, 2, 3))]);
      store.get(bytes(1))?.fill(0);
      for (const { key, value } of store.scan({ from: bytes(0), to: bytes(9), entriesMax: 9 })) {
        key.fill(9);
        value.fill(9);
      }
      expect(plain(store.get(bytes(1)))).toEqual([1, 2, 3]);
    });

    it('takes keys up to the limit and refuses others whole', async () => {
      const longest = new Uint8Array(store.keyBytesMax).fill(7);
      await store.commit([put(longest, bytes(1))]);
      expect(plain(store.get(longest))).toEqual([1]);
      const tooLong = new Uint8Array(store.keyBytesMax + 1);
      await expect(store.commit([put(bytes(3), bytes(3)), put(tooLong, bytes(1))])).rejects.toMatchObject({ code: 'INTERNAL' });
      await expect(store.commit([put(bytes(3), bytes(3)), put(bytes(), bytes(1))])).rejects.toMatchObject({ code: 'INTERNAL' });
      expect(store.get(bytes(3))).toBeUndefined();
    });

    it('keeps what it acknowledged', async () => {
      await store.commit([put(bytes(1), bytes(1)), put(bytes(2), bytes(2))]);
      await store.commit([remove(bytes(1))]);
      store = await reopen(store);
      expect(keys({})).toEqual([[2]]);
    });

    it('is closed once and for all', async () => {
      await store.close();
      await store.close();
      expect(() => store.get(bytes(1))).toThrowError(expect.objectContaining({ code: 'STORE_CLOSED' }));
      await expect(store.commit([put(bytes(1), bytes(1))])).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    });
  });
}
