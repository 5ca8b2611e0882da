import { assert, utf8 } from '../../src/base/index.js';
import type { EmbeddingBackend, EmbeddingFacts, TextPiece } from '../../src/platform/index.js';
import { hashToken } from './hashToken.js';

const dimensions = 64;
const textTokensMax = 256;
const packTokensMax = 128;
const beginToken = 1;
const endToken = 2;
const vocabularySize = 2 ** 31;

/**
 * An embedding model without weights: words hashed into tokens, tokens into signs, summed. Texts that share words are near. As a
 * cross-encoder it counts the words that both texts of a pair have.
 */
export class ToyEmbeddingBackend implements EmbeddingBackend {
  readonly facts: EmbeddingFacts;
  #readTokens = 0;

  constructor(facts: Partial<Pick<EmbeddingFacts, 'gives' | 'dimensionsShorter'>> = {}) {
    const tokens = { beginTokens: [beginToken], endTokens: [endToken], separatorTokens: [endToken] };
    const passTokensMax = facts.gives === 'score' ? textTokensMax : packTokensMax;
    const lengths = { dimensions, textTokensMax, passTokensMax, packTokensMax };
    this.facts = { gives: 'vector', dimensionsShorter: [], ...lengths, vocabularySize, ...tokens, ...facts };
  }

  tokenize(text: string): Int32Array {
    const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    return Int32Array.from([beginToken, ...words.map(hashWord), endToken]);
  }

  embed(texts: readonly Int32Array[]): Float32Array[] {
    const tokens = texts.reduce((total, text) => total + text.length, 0);
    const tokensMax = texts.length === 1 ? this.facts.passTokensMax : packTokensMax;
    assert(tokens > 0 && tokens <= tokensMax, 'a pack fits into one pass', { tokens, tokensMax });
    return texts.map(this.facts.gives === 'vector' ? vectorOf : scoreOf);
  }

  readPiece(text: Int32Array, { from, to }: TextPiece): Float32Array | undefined {
    assert(from === 0 || from === this.#readTokens, 'pieces follow each other', { from });
    assert(to > from && to - from <= packTokensMax && to <= text.length && text.length <= textTokensMax, 'a piece fits into one pass');
    this.#readTokens = to;
    return to === text.length ? vectorOf(text) : undefined;
  }

  close(): void {}
}

const hashWord = (word: string): number => utf8.encode(word).reduce(hashToken, 0) >>> 1;

function vectorOf(text: Int32Array): Float32Array {
  const sums = new Float32Array(dimensions);
  for (const token of text) {
    for (let dimension = 0; dimension < dimensions; dimension++) {
      sums[dimension] = (sums[dimension] as number) + (hashToken(token, dimension) % 2 === 0 ? 1 : -1);
    }
  }
  const length = Math.hypot(...sums) || 1;
  return sums.map((sum) => sum / length);
}

function scoreOf(pair: Int32Array): Float32Array {
  const border = pair.indexOf(endToken);
  const asked = pair.subarray(1, border);
  const found = asked.filter((token) => pair.subarray(border).includes(token));
  return Float32Array.of(found.length - asked.length / 2);
}
