/** One transaction on lists: what it read of each key and what it put at the end of each. */
export interface ListTransaction {
  readonly name: string;
  /** `none`: it certainly did nothing; `unknown`: it may have happened. */
  readonly outcome: 'done' | 'unknown' | 'none';
  /** The whole list of every key it read, before its own writes; empty where its answer was lost. */
  readonly reads: readonly { readonly key: string; readonly values: readonly number[] }[];
  /** A value is appended once in a key's life. */
  readonly appends: readonly { readonly key: string; readonly value: number }[];
  readonly invokedMs: number;
  /** Infinity when unknown. */
  readonly returnedMs: number;
}
