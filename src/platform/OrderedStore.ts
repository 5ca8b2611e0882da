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
  /** Ends with the entry whose value reaches this many bytes together with those before it. */
  readonly valueBytesMax?: number;
}

/**
 * What a batch may use of a full disk. `reserve`: it frees room, now or once old versions are collected, or it ends what is decided
 * already; a part of the disk is kept for such batches alone.
 */
export type StoreRoom = 'ordinary' | 'reserve';

/** What a full disk lacks, bytes. */
export interface StoreShortage {
  /** On the disk and inside the store's own file, which does not shrink. Not nothing: a part is kept for batches of the reserve. */
  readonly freeBytes: number;
  /** So much must be free before ordinary batches are taken again. */
  readonly neededBytes: number;
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
  /** Ordinary batches are refused for want of room; those of the reserve are taken while it lasts. */
  readonly isFull: boolean;
  /** Of a full store, as of the last look; undefined where it is not full or where nobody counts. */
  readonly shortage: StoreShortage | undefined;
  /** Looks at the disk again: the store may become full, or be full no longer. To be called now and then. */
  refreshRoom(): void;
  /**
   * Applies the whole batch or nothing, in call order; resolves when it is fsynced. Concurrent calls may share one fsync. A batch of the
   * reserve that meets the full disk first is refused once as others are, and has room when it is tried again.
   */
  commit(writes: readonly StoreWrite[], room?: StoreRoom): Promise<void>;
  close(): Promise<void>;
}
