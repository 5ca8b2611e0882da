import type { InferenceOptions } from '../options.js';

export interface DraftState {
  /** Of each sequence that decodes: tokens that are drafted for it, and the share of drafted tokens that is right. */
  readonly decoding: readonly { readonly draftedTokens: number; readonly draftShare: number }[];
  /** Milliseconds of a decode step of so many rows; undefined before the first measurement. */
  readonly stepMs: (rows: number) => number | undefined;
  /** Rows of a call that may want logits. */
  readonly outputsMax: number;
}

/**
 * How many drafted tokens of each sequence the next decode step verifies (R26), a pure function: the number that promises most tokens a
 * millisecond, by the share of guesses that were right and what steps of so many rows cost here; 0 where that is not clearly more than
 * without. The same number for all sequences of a step, since the library computes unequal ones in several passes.
 */
export function chooseDraftTokens({ decoding, stepMs, outputsMax }: DraftState, options: Pick<InferenceOptions, 'draftGainMin'>): number {
  const most = Math.min(...decoding.map(({ draftedTokens }) => draftedTokens), Math.floor(outputsMax / decoding.length) - 1);
  const plainMs = stepMs(decoding.length);
  if (plainMs === undefined || most < 1) return 0;
  let best = { tokens: 0, perMs: (options.draftGainMin * decoding.length) / plainMs };
  for (let tokens = 1; tokens <= most; tokens++) {
    const drawn = decoding.reduce((sum, { draftShare }) => sum + drawnTokens(draftShare, tokens), 0);
    const perMs = drawn / (stepMs(decoding.length * (1 + tokens)) ?? plainMs);
    if (perMs > best.perMs) best = { tokens, perMs };
  }
  return best.tokens;
}

/** Expected tokens of a step with so many drafted tokens, each right with probability `share` when those before it are (SPEC E3). */
const drawnTokens = (share: number, drafted: number): number => (share >= 1 ? drafted + 1 : (1 - share ** (drafted + 1)) / (1 - share));
