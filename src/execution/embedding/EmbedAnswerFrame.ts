import type { EmbedOutcome } from './EmbedOutcome.js';

/** Frames of a shard's answer to LLM EMBED … FOR: signs of life, then the end. */
export type EmbedAnswerFrame =
  | { readonly kind: 'alive' }
  /** It goes on by itself. */
  | { readonly kind: 'noted' }
  | { readonly kind: 'done'; readonly outcome: EmbedOutcome };
