import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitPair } from './fitPair.js';
import { fitText } from './fitText.js';

const facts = { textTokensMax: 20, beginTokens: [101], endTokens: [102], separatorTokens: [102, 103] };
const wrapped = (tokens: readonly number[]): Int32Array => Int32Array.from([101, ...tokens, 102]);
const tokens = fc.array(fc.nat({ max: 50 }), { maxLength: 40 });

describe('fitting texts into a model', () => {
  it('keeps a whole text whole, and of a longer one the beginning with its end tokens', () => {
    fc.assert(
      fc.property(tokens, (text) => {
        const { tokens: kept, leftOut } = fitText(wrapped(text), facts);
        expect(kept.length + leftOut).toBe(text.length + 2);
        expect(kept.length).toBeLessThanOrEqual(20);
        expect(Array.from(kept)).toEqual([101, ...text.slice(0, 18), 102]);
      }),
    );
  });

  it('joins a pair as the model wants it; only the document is cut, and what is left out is counted', () => {
    fc.assert(
      fc.property(tokens, tokens, (query, document) => {
        const pair = fitPair(wrapped(query), wrapped(document), facts);
        const room = 20 - 4 - query.length;
        if (room < 1) return expect(pair).toBeUndefined();
        const kept = document.slice(0, room);
        expect(Array.from(pair?.tokens ?? [])).toEqual([101, ...query, 102, 103, ...kept, 102]);
        expect(pair?.leftOut).toBe(document.length - kept.length);
      }),
    );
  });
});
