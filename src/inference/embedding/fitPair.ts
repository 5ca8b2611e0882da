import type { EmbeddingFacts } from '../../platform/index.js';
import type { FittedText } from './FittedText.js';

type PairFacts = Pick<EmbeddingFacts, 'textTokensMax' | 'beginTokens' | 'endTokens' | 'separatorTokens'>;

/**
 * A query and a document as one text of a cross-encoder, both as tokenised alone; the document loses what has no room behind the query.
 * Undefined where not even one token of the document has: the query is too long.
 */
export function fitPair(query: Int32Array, document: Int32Array, facts: PairFacts): FittedText | undefined {
  const { textTokensMax, beginTokens, endTokens, separatorTokens } = facts;
  const bare = (text: Int32Array): Int32Array => text.subarray(beginTokens.length, text.length - endTokens.length);
  const [asked, given] = [bare(query), bare(document)];
  const room = textTokensMax - beginTokens.length - asked.length - separatorTokens.length - endTokens.length;
  if (room < 1) return undefined;
  const kept = given.subarray(0, room);
  const tokens = Int32Array.from([...beginTokens, ...asked, ...separatorTokens, ...kept, ...endTokens]);
  return { tokens, leftOut: given.length - kept.length };
}
