import type { SamplingOptions } from '../../platform/index.js';

/** What a constraint leaves of the vocabulary; some token always. */
export interface TokenFilter {
  allows(token: number): boolean;
  /** One bit a token: bit `token & 31` of word `token >>> 5`. */
  allowed(): Uint32Array;
}

/** What a token is picked from. */
export interface SampleRequest {
  /** Logits of one row; not changed. */
  readonly logits: Float32Array;
  readonly sampling: SamplingOptions;
  /** Seed of the request; the token's place in the answer picks the number of its stream. */
  readonly seed: number;
  /** Tokens of the answer so far: penalties look at these and not at the prompt, so that an answer may quote it. */
  readonly answer: readonly number[];
  /** The model's own end tokens. */
  readonly endTokens: ReadonlySet<number>;
  readonly filter?: TokenFilter;
  /** Memory as large as the logits that may be overwritten: new memory for each token of each answer keeps the collector busy. */
  readonly scratch?: Float32Array;
}
