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

/** A consistent view; entries handed out are copies that the caller may keep. */
export interface StoreSnapshot {
  get(key: Uint8Array): Uint8Array | undefined;
  scan(range: ScanRange): StoreEntry[];
  release(): void;
}

/**
 * Ordered bytes with atomic durable batches (R7). Reads are synchronous, over what is committed. Keys compare unsigned lexicographically
 * and are 1…`keyBytesMax` bytes long.
 * Errors: STORE_FULL (disk or map full: nothing of the batch is stored, reads go on), STORE_DAMAGED, STORE_CLOSED.
 */
export interface OrderedStore {
  readonly engineName: string;
  readonly keyBytesMax: number;
  /** The newest durably committed state. */
  get(key: Uint8Array): Uint8Array | undefined;
  scan(range: ScanRange): StoreEntry[];
  snapshot(): StoreSnapshot;
  /** Applies the whole batch or nothing, in call order; resolves when it is fsynced. Concurrent calls may share one fsync. */
  commit(writes: readonly StoreWrite[]): Promise<void>;
  close(): Promise<void>;
}
