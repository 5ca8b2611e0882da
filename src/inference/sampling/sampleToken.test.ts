import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainSampling, type SamplingOptions } from '../../platform/index.js';
import { sampleToken } from './sampleToken.js';
import { uniformAt } from './uniformAt.js';

const plain: SamplingOptions = { ...plainSampling, tokensMax: 1, temperature: 1 };
const endTokens = new Set([7]);
const logitsOf = (...logits: number[]): Float32Array => Float32Array.from(logits);
/** Share of each token in draws at different places of an answer. */
function shares(logits: Float32Array, sampling: Partial<SamplingOptions>, draws = 4000): number[] {
  const counts = new Array<number>(logits.length).fill(0);
  for (let seed = 0; seed < draws; seed++) {
    const token = sampleToken({ logits, sampling: { ...plain, ...sampling }, seed, answer: [], endTokens });
    counts[token] = (counts[token] as number) + 1;
  }
  return counts.map((count) => count / draws);
}

describe('sampleToken (R22)', () => {
  it('takes the largest logit at temperature 0, the lowest id on ties', () => {
    expect(sampleToken({ logits: logitsOf(1, 3, 3, 2), sampling: { ...plain, temperature: 0 }, seed: 1, answer: [], endTokens })).toBe(1);
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
    expect(sampleToken({ logits: logitsOf(3, 2), sampling: greedy, seed: 1, answer: [0], endTokens })).toBe(1);
    expect(sampleToken({ logits: logitsOf(-1, -1.5), sampling: greedy, seed: 1, answer: [0], endTokens })).toBe(1);
    expect(sampleToken({ logits: logitsOf(3, 2), sampling: greedy, seed: 1, answer: [1], endTokens })).toBe(0);
  });

  it('subtracts presence once and frequency for each time, adds bias', () => {
    const greedy = { ...plain, temperature: 0 };
    const pick = (sampling: Partial<SamplingOptions>, answer: number[]) =>
      sampleToken({ logits: logitsOf(3, 2, 1), sampling: { ...greedy, ...sampling }, seed: 1, answer, endTokens });
    expect(pick({ presencePenalty: 1.5 }, [0])).toBe(1);
    expect(pick({ presencePenalty: 0.5 }, [0, 0, 0, 0])).toBe(0);
    expect(pick({ frequencyPenalty: 0.5 }, [0])).toBe(0);
    expect(pick({ frequencyPenalty: 0.5 }, [0, 0, 0])).toBe(1);
    expect(pick({ frequencyPenalty: -1 }, [1, 1])).toBe(1);
    expect(pick({ logitBias: [{ token: 2, bias: 2.5 }] }, [])).toBe(2);
    expect(pick({ logitBias: [{ token: 0, bias: -100 }] }, [])).toBe(1);
  });

  it('keeps by min-p what is likely against the likeliest, after the temperature', () => {
    const logits = logitsOf(Math.log(0.5), Math.log(0.3), Math.log(0.15), Math.log(0.05));
    const kept = (sampling: Partial<SamplingOptions>) => shares(logits, sampling).flatMap((share, token) => (share > 0 ? [token] : []));
    expect(kept({ minP: 0.5 })).toEqual([0, 1]);
    expect(kept({ minP: 0.11 })).toEqual([0, 1, 2]);
    expect(kept({ minP: 1 })).toEqual([0]);
    expect(kept({ minP: 0.5, temperature: 2 })).toEqual([0, 1, 2]);
    expect(kept({ minP: 0.2, topP: 0.75 })).toEqual([0, 1]);
  });

  it('keeps by typical-p the tokens whose surprise is nearest to the expected one', () => {
    // Entropy 1.09 nat; surprises 0.51, 1.61, 2.30, 2.30: the likeliest is nearest, then the second.
    const logits = logitsOf(Math.log(0.6), Math.log(0.2), Math.log(0.1), Math.log(0.1));
    const kept = (sampling: Partial<SamplingOptions>) => shares(logits, sampling).flatMap((share, token) => (share > 0 ? [token] : []));
    expect(kept({ typicalP: 0.15 })).toEqual([1]);
    expect(kept({ typicalP: 0.7 })).toEqual([0, 1]);
    expect(kept({ typicalP: 0.9 })).toEqual([0, 1, 2]);
  });

  it('draws no end token before tokensMin, and never with ignoreEnd', () => {
    const pick = (sampling: Partial<SamplingOptions>, answer: number[]) =>
      sampleToken({
        logits: logitsOf(0, 9, 8, 7),
        sampling: { ...plain, temperature: 0, stopTokens: [2], ...sampling },
        seed: 1,
        answer,
        endTokens: new Set([1]),
      });
    expect(pick({}, [])).toBe(1);
    expect(pick({ tokensMin: 2 }, [3])).toBe(3);
    expect(pick({ tokensMin: 2 }, [3, 3])).toBe(1);
    expect(pick({ ignoreEnd: true }, [3])).toBe(2);
    expect(pick({ ignoreEnd: true, logitBias: [{ token: 1, bias: 100 }] }, [])).toBe(2);
  });

  it('picks by seed and place alone, and always a token that exists', () => {
    const anything = fc.record({
      logits: fc.array(fc.float({ min: -30, max: 30, noNaN: true }), { minLength: 1, maxLength: 50 }),
      temperature: fc.double({ min: 0.01, max: 5, noNaN: true }),
      topP: fc.double({ min: 0.01, max: 1, noNaN: true }),
      topK: fc.nat({ max: 60 }),
      minP: fc.double({ min: 0, max: 1, noNaN: true }),
      typicalP: fc.double({ min: 0.01, max: 1, noNaN: true }),
      seed: fc.maxSafeInteger(),
    });
    fc.assert(
      fc.property(anything, ({ logits, seed, ...sampling }) => {
        const request = { logits: Float32Array.from(logits), sampling: { ...plain, ...sampling }, seed, answer: [], endTokens };
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
