/** Tokens that may be drawn, the likeliest first, lower ids first among equals, with weights in proportion to their probability. */
export interface Candidates {
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
}
