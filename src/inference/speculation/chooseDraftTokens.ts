import type { InferenceOptions } from '../options.js';

export interface DraftState {
  /** Of each sequence that decodes: tokens that are drafted for it, the share of drafted tokens that is right, and tokens it may still draw. */
  readonly decoding: readonly { readonly draftedTokens: number; readonly draftShare: number; readonly answerTokensLeft: number }[];
  /** Milliseconds of a decode step of so many rows; undefined before the first measurement. */
  readonly stepMs: (rows: number) => number | undefined;
  /** Rows of a call that may want logits. */
  readonly outputsMax: number;
  /** Drafts have not lost too much of late (`DraftLedger`). */
  readonly mayDraft: boolean;
}

/**
 * How many drafted tokens of each sequence the next decode step verifies (R26), a pure function: the number that promises most tokens a
 * millisecond, by the share of guesses that were right and what steps of so many rows cost here; 0 where that is not clearly more than
 * without. The same number for all sequences of a step, since the library computes unequal ones in several passes: one that has fewer
 * drafted tokens computes rows for nothing, which the cost counts.
 */
export function chooseDraftTokens(state: DraftState, options: Pick<InferenceOptions, 'draftGainMin'>): number {
  const { decoding, stepMs } = state;
  const plainMs = stepMs(decoding.length);
  if (!state.mayDraft || plainMs === undefined) return 0;
  let best = { tokens: 0, perMs: (options.draftGainMin * decoding.length) / plainMs };
  for (let tokens = 1; tokens <= mostTokens(state); tokens++) {
    const drawn = decoding.reduce((sum, one) => sum + drawnTokens(one.draftShare, Math.min(tokens, one.draftedTokens)), 0);
    const perMs = drawn / (stepMs(decoding.length * (1 + tokens)) ?? plainMs);
    if (perMs > best.perMs) best = { tokens, perMs };
  }
  return best.tokens;
}

/** Within the longest draft, what every answer has room for, and the logits of a call. */
function mostTokens({ decoding, outputsMax }: DraftState): number {
  const drafted = Math.max(...decoding.map(({ draftedTokens }) => draftedTokens));
  const room = Math.min(...decoding.map(({ answerTokensLeft }) => answerTokensLeft)) - 1;
  return Math.min(drafted, room, Math.floor(outputsMax / decoding.length) - 1);
}

/** Expected tokens of a step with so many drafted tokens, each right with probability `share` when those before it are (SPEC E3). */
const drawnTokens = (share: number, drafted: number): number => (share >= 1 ? drafted + 1 : (1 - share ** (drafted + 1)) / (1 - share));
