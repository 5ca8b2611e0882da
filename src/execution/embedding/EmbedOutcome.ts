/** What a shard did for a statement. */
export interface EmbedOutcome {
  /** Of the first look at all of them. */
  readonly rows: number;
  /** Rows that got a vector, however often. */
  readonly embedded: number;
  /** Those of `embedded` that somebody wrote while the job ran. */
  readonly again: number;
  /** Rows that were as they should be when they were looked at first. */
  readonly current: number;
  /** Rows that lost the vector of a text they no longer have. */
  readonly cleared: number;
  /** Rows without a text. */
  readonly empty: number;
  readonly failed: number;
  /** Some of them. */
  readonly failures: readonly { readonly key: string; readonly code: string }[];
  /** Rows that were written so often that the job ended before it had the last of their texts. */
  readonly changing: number;
  /** Texts that the model read; a text of many rows is read once in a while. */
  readonly texts: number;
  readonly requests: number;
  readonly promptTokens: number;
  /** Texts that were cut. */
  readonly cut: number;
}
