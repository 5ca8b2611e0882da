import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SamplingOptions } from '../platform/index.js';
import { sampleToken } from './sampleToken.js';
import { uniformAt } from './uniformAt.js';

const plain: SamplingOptions = { tokensMax: 1, temperature: 1, topP: 1, topK: 0, repetitionPenalty: 1, stop: [] };
const logitsOf = (...logits: number[]): Float32Array => Float32Array.from(logits);
/** Share of each token in draws at different places of an answer. */
function shares(logits: Float32Array, sampling: Partial<SamplingOptions>, draws = 4000): number[] {
  const counts = new Array<number>(logits.length).fill(0);
  for (let seed = 0; seed < draws; seed++) {
    const token = sampleToken({ logits, sampling: { ...plain, ...sampling }, seed, answer: [] });
    counts[token] = (counts[token] as number) + 1;
  }
  return counts.map((count) => count / draws);
}

describe('sampleToken (R22)', () => {
  it('takes the largest logit at temperature 0, the lowest id on ties', () => {
    expect(sampleToken({ logits: logitsOf(1, 3, 3, 2), sampling: { ...plain, temperature: 0 }, seed: 1, answer: [] })).toBe(1);
  });

  it('draws by the softmax of the logits over the temperature', () => {
    const [a, b, c] = shares(logitsOf(Math.log(0.6), Math.log(0.3), Math.log(0.1)), {}) as [number, number, number];
    expect(Math.abs(a - 0.6)).toBeLessThan(0.03);
    expect(Math.abs(b - 0.3)).toBeLessThan(0.03);
    expect(Math.abs(c - 0.1)).toBeLessThan(0.03);
    const hot = shares(logitsOf(Math.log(0.6), Math.log(0.3), Math.log(0.1)), { temperature: 100 });
    for (const share of hot) expect(Math.abs(share - 1 / 3)).toBeLessThan(0.03);
  });

  it('keeps the k likeliest, or the smallest set that weighs p', () => {
    const logits = logitsOf(Math.log(0.1), Math.log(0.5), Math.log(0.15), Math.log(0.25));
    const kept = (sampling: Partial<SamplingOptions>) => shares(logits, sampling).flatMap((share, token) => (share > 0 ? [token] : []));
    expect(kept({ topK: 2 })).toEqual([1, 3]);
    expect(kept({ topP: 0.5 })).toEqual([1]);
    expect(kept({ topP: 0.76 })).toEqual([1, 2, 3]);
    expect(kept({ topK: 3, topP: 0.8 })).toEqual([1, 3]);
    expect(kept({ topK: 1 })).toEqual([1]);
  });

  it('weighs tokens of the answer down by the repetition penalty, positive and negative logits alike', () => {
    const greedy = { ...plain, temperature: 0, repetitionPenalty: 2 };
    expect(sampleToken({ logits: logitsOf(3, 2), sampling: greedy, seed: 1, answer: [0] })).toBe(1);
    expect(sampleToken({ logits: logitsOf(-1, -1.5), sampling: greedy, seed: 1, answer: [0] })).toBe(1);
    expect(sampleToken({ logits: logitsOf(3, 2), sampling: greedy, seed: 1, answer: [1] })).toBe(0);
  });

  it('picks by seed and place alone, and always a token that exists', () => {
    const anything = fc.record({
      logits: fc.array(fc.float({ min: -30, max: 30, noNaN: true }), { minLength: 1, maxLength: 50 }),
      temperature: fc.double({ min: 0.01, max: 5, noNaN: true }),
      topP: fc.double({ min: 0.01, max: 1, noNaN: true }),
      topK: fc.nat({ max: 60 }),
      seed: fc.maxSafeInteger(),
    });
    fc.assert(
      fc.property(anything, ({ logits, seed, ...sampling }) => {
        const request = { logits: Float32Array.from(logits), sampling: { ...plain, ...sampling }, seed, answer: [] };
        const token = sampleToken(request);
        expect(token).toBeGreaterThanOrEqual(0);
        expect(token).toBeLessThan(logits.length);
        expect(sampleToken(request)).toBe(token);
        expect(request.logits).toEqual(Float32Array.from(logits));
      }),
    );
  });
});

describe('uniformAt', () => {
  it('is SplitMix64: its first numbers for seed 0 are the published ones', () => {
    // 0xe220a8397b1dcdaf and 0x6e789e6aa1b965f4, the upper 53 bits.
    expect(uniformAt(0, 0)).toBe(Number(0xe220a8397b1dcdafn >> 11n) / 2 ** 53);
    expect(uniformAt(0, 1)).toBe(Number(0x6e789e6aa1b965f4n >> 11n) / 2 ** 53);
  });
});
