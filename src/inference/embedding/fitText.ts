import type { EmbeddingFacts } from '../../platform/index.js';
import type { FittedText } from './FittedText.js';

/** Cuts a tokenised text that the model cannot read whole behind its beginning; the end tokens stay. */
export function fitText(text: Int32Array, { textTokensMax, endTokens }: Pick<EmbeddingFacts, 'textTokensMax' | 'endTokens'>): FittedText {
  const leftOut = text.length - textTokensMax;
  if (leftOut <= 0) return { tokens: text, leftOut: 0 };
  const tokens = text.slice(0, textTokensMax);
  tokens.set(endTokens, textTokensMax - endTokens.length);
  return { tokens, leftOut };
}
