import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainSampling, type SamplingOptions } from '../../platform/index.js';
import type { TokenFilter } from './SampleRequest.js';
import { sampleToken } from './sampleToken.js';

const end = 9;
const endTokens = new Set([end]);
const plain: SamplingOptions = { ...plainSampling, tokensMax: 1, temperature: 1 };

function filterOf(tokens: readonly number[]): TokenFilter & { masks: number } {
  const mask = new Uint32Array(2);
  for (const token of tokens) mask[token >>> 5] = (mask[token >>> 5] as number) | (1 << (token & 31));
  const filter = {
    masks: 0,
    allows: (token: number) => tokens.includes(token),
    allowed: () => {
      filter.masks++;
      return mask;
    },
  };
  return filter;
}

const pick = (
  logits: readonly number[],
  filter: TokenFilter,
  sampling: Partial<SamplingOptions> = {},
  seed = 1,
  answer: readonly number[] = [],
): number => sampleToken({ logits: Float32Array.from(logits), sampling: { ...plain, ...sampling }, seed, answer, endTokens, filter });

/** Largest difference between the shares of many draws and the probabilities, in standard deviations. */
function deviation(
  logits: readonly number[],
  allowed: readonly number[],
  sampling: Partial<SamplingOptions>,
  expected: readonly number[],
): number {
  const draws = 20_000;
  const counts = new Array<number>(logits.length).fill(0);
  const filter = filterOf(allowed);
  // One request's stream and the first numbers of many: the two draws of a token must be independent in both.
  for (let draw = 0; draw < draws; draw++) {
    const token =
      draw % 2 === 0 ? pick(logits, filter, sampling, draw) : pick(logits, filter, sampling, 7, new Array<number>(draw).fill(0));
    counts[token] = (counts[token] as number) + 1;
  }
  return Math.max(
    ...expected.map((share, token) => {
      const count = counts[token] as number;
      return share === 0
        ? count === 0
          ? 0
          : Number.POSITIVE_INFINITY
        : Math.abs(count - share * draws) / Math.sqrt(draws * share * (1.0001 - share));
    }),
  );
}

describe('sampleToken under a constraint (R22)', () => {
  const probabilities = [0.4, 0.25, 0.15, 0.1, 0.06, 0.04];
  const logits = probabilities.map(Math.log);

  it('takes the likeliest allowed token at temperature 0, and asks for all only when the likeliest of all is refused', () => {
    const filter = filterOf([0, 2]);
    expect(pick([3, 2, 1], filter, { temperature: 0 })).toBe(0);
    expect(filter.masks).toBe(0);
    expect(pick([1, 3, 2], filter, { temperature: 0 })).toBe(2);
    expect(filter.masks).toBe(1);
  });

  it('draws exactly by the distribution of the allowed tokens', { timeout: 60_000 }, () => {
    for (const allowed of [[0, 1, 2, 3, 4, 5], [1, 4], [5], [0, 3, 5]]) {
      const total = allowed.reduce((sum, token) => sum + (probabilities[token] as number), 0);
      const expected = probabilities.map((share, token) => (allowed.includes(token) ? share / total : 0));
      expect(deviation(logits, allowed, {}, expected)).toBeLessThan(4);
      const hot = probabilities.map((share, token) => (allowed.includes(token) ? share ** 0.5 : 0));
      const hotTotal = hot.reduce((sum, share) => sum + share, 0);
      expect(
        deviation(
          logits,
          allowed,
          { temperature: 2 },
          hot.map((share) => share / hotTotal),
        ),
      ).toBeLessThan(4);
    }
  });

  it('draws among the allowed of those that the filters keep, and filters the allowed ones when there is none', { timeout: 60_000 }, () => {
    const among = (tokens: readonly number[]) => {
      const total = tokens.reduce((sum, token) => sum + (probabilities[token] as number), 0);
      return probabilities.map((share, token) => (tokens.includes(token) ? share / total : 0));
    };
    expect(deviation(logits, [1, 2, 5], { topK: 3 }, among([1, 2]))).toBeLessThan(4);
    expect(deviation(logits, [3, 4, 5], { topK: 2 }, among([3, 4]))).toBeLessThan(4);
    expect(deviation(logits, [0, 2, 5], { topP: 0.7 }, among([0, 2]))).toBeLessThan(4);
    expect(deviation(logits, [3, 4, 5], { minP: 0.5 }, among([3, 4]))).toBeLessThan(4);
  });

  it('lets bias and penalties weigh, and a ban that leaves nothing give way', () => {
    expect(pick([3, 2, 1], filterOf([1, 2]), { temperature: 0, logitBias: [{ token: 2, bias: 5 }] })).toBe(2);
    expect(pick([3, 2.5, 2], filterOf([1, 2]), { temperature: 0, presencePenalty: 1 }, 1, [1])).toBe(2);
    const withEnd = [0, 0, 0, 0, 0, 0, 0, 0, 0, 5];
    expect(pick(withEnd, filterOf([1, end]), { temperature: 0, tokensMin: 1 })).toBe(1);
    for (const ban of [{ tokensMin: 1 }, { ignoreEnd: true }]) {
      expect(pick(withEnd, filterOf([end]), { ...ban, temperature: 0 })).toBe(end);
      expect(pick(withEnd, filterOf([end]), { ...ban, topK: 3 })).toBe(end);
    }
  });

  it('picks an allowed token always, whatever the sampling, the same for the same seed', () => {
    const sampling = fc.record({
      temperature: fc.constantFrom(0, 0.01, 1, 5),
      topK: fc.nat({ max: 5 }),
      topP: fc.constantFrom(0.01, 0.9, 1),
      minP: fc.constantFrom(0, 0.5, 1),
      typicalP: fc.constantFrom(0.2, 1),
      tokensMin: fc.nat({ max: 1 }),
    });
    const values = fc.array(fc.float({ min: -40, max: 40, noNaN: true }), { minLength: 40, maxLength: 40 });
    const tokens = fc.uniqueArray(fc.nat({ max: 39 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(values, tokens, sampling, fc.nat(), (row, allowed, options, seed) => {
        const token = pick(row, filterOf(allowed), options, seed);
        expect(allowed).toContain(token);
        expect(pick(row, filterOf(allowed), options, seed)).toBe(token);
      }),
      { numRuns: 1000 },
    );
  });
});
