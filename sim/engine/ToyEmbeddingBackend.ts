import { assert, utf8 } from '../../src/base/index.js';
import type { EmbeddingBackend } from '../../src/platform/index.js';
import { hashToken } from './hashToken.js';

const dimensions = 64;
const textTokensMax = 256;
const packTokensMax = 128;
const beginToken = 1;
const endToken = 2;

/** An embedding model without weights: words hashed into tokens, tokens into signs, summed. Texts that share words are near. */
export class ToyEmbeddingBackend implements EmbeddingBackend {
  readonly facts = { dimensions, textTokensMax, packTokensMax };

  tokenize(text: string): Int32Array {
    const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    return Int32Array.from([beginToken, ...words.map(hashWord), endToken]);
  }

  embed(texts: readonly Int32Array[]): Float32Array[] {
    const tokens = texts.reduce((total, text) => total + text.length, 0);
    const tokensMax = texts.length === 1 ? textTokensMax : packTokensMax;
    assert(tokens > 0 && tokens <= tokensMax, 'a pack fits into one pass', { tokens, tokensMax });
    return texts.map(vectorOf);
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
