/** One change of an atomic batch. Keys and values belong to the store once `commit` is called; callers must not change them after. */
export type StoreWrite =
  | { readonly kind: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'delete'; readonly key: Uint8Array };

export interface StoreEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface ScanRange {
  /** First key, inclusive. */
  readonly from: Uint8Array;
  /** End, exclusive. */
  readonly to: Uint8Array;
  /** From `to` downwards. */
  readonly reverse?: boolean;
  /** At most this many entries; the caller goes on from the last key. */
  readonly entriesMax: number;
}

/**
 * Ordered bytes with atomic durable batches (R7). Reads are synchronous, over what is committed. Keys compare unsigned lexicographically
 * and are 1…`keyBytesMax` bytes long.
 * Errors: STORE_FULL (disk or map full: nothing of the batch is stored, reads go on), STORE_DAMAGED, STORE_CLOSED.
 */
export interface OrderedStore {
  readonly engineName: string;
  readonly keyBytesMax: number;
  /** Reads see the newest durable state. What is handed out are copies that the caller may keep. */
  get(key: Uint8Array): Uint8Array | undefined;
  scan(range: ScanRange): StoreEntry[];
  /** Applies the whole batch or nothing, in call order; resolves when it is fsynced. Concurrent calls may share one fsync. */
  commit(writes: readonly StoreWrite[]): Promise<void>;
  close(): Promise<void>;
}
