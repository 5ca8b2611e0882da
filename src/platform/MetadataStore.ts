export interface MetadataEntry {
  readonly key: string;
  readonly value: string;
  /** Revision of the last change of this key; 0 is reserved for "absent". */
  readonly revision: number;
}

export interface MetadataCondition {
  readonly key: string;
  /** The key's revision must be this; 0 = the key must be absent. */
  readonly revision: number;
}

export type MetadataOperation =
  | { readonly kind: 'put'; readonly key: string; readonly value: string; readonly leaseId?: string }
  | { readonly kind: 'delete'; readonly key: string };

export interface MetadataChange {
  readonly kind: 'put' | 'delete';
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

/**
 * Cluster metadata (R3, R40): a small linearizable key-value store with compare-and-swap, leases and watches. Embedded LMDB on one
 * machine, etcd on several. Its revisions order metadata only, never data.
 * Errors: METADATA_COMPACTED (from `watch`: list again), METADATA_UNAVAILABLE (retryable; the outcome of a `transact` is then unknown: read back by key).
 */
export interface MetadataStore {
  read(key: string): Promise<MetadataEntry | undefined>;
  /** Entries whose key starts with `prefix`, by key. */
  list(prefix: string): Promise<readonly MetadataEntry[]>;
  /** All operations if all conditions hold, else none. Durable when resolved. */
  transact(request: {
    readonly conditions: readonly MetadataCondition[];
    readonly operations: readonly MetadataOperation[];
  }): Promise<{ readonly committed: boolean; readonly revision: number }>;
  /** A lease that ends `ttlMs` after its last renewal, and then deletes its keys. */
  grantLease(ttlMs: number): Promise<string>;
  /** False when the lease has ended: its keys are gone, ask for a new one. */
  renewLease(leaseId: string): Promise<boolean>;
  revokeLease(leaseId: string): Promise<void>;
  /** Revision of the newest change of any key. */
  revision(): Promise<number>;
  /** Changes under `prefix` after `fromRevision` in order, each at least once; ends when the signal aborts. */
  watch(prefix: string, fromRevision: number, signal: AbortSignal): AsyncIterable<MetadataChange>;
  close(): Promise<void>;
}
