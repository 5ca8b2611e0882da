import fc from 'fast-check';
import { expect, it } from 'vitest';
import { logprobsOf } from './logprobsOf.js';

const tokenBytes = (token: number) => Uint8Array.of(65 + token);
const logits = Float32Array.from([0.5, 0.3, 0.2].map(Math.log));

it('tells the logarithm of the probability of a token and of the likeliest, with their bytes', () => {
  const { token, bytes, logprob, top } = logprobsOf(logits, 2, { topCount: 2, tokenBytes });
  expect({ token, bytes }).toEqual({ token: 2, bytes: [67] });
  expect(Math.exp(logprob)).toBeCloseTo(0.2, 6);
  expect(top.map((each) => each.token)).toEqual([0, 1]);
  expect(Math.exp(top[1]?.logprob ?? 0)).toBeCloseTo(0.3, 6);
});

it('is a distribution: all probabilities together are 1, whatever the scale of the logits', () => {
  fc.assert(
    fc.property(fc.array(fc.float({ min: -80, max: 80, noNaN: true }), { minLength: 1, maxLength: 40 }), (values) => {
      const all = logprobsOf(Float32Array.from(values), 0, { topCount: values.length, tokenBytes }).top;
      expect(all.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)).toBeCloseTo(1, 4);
      expect(all.map(({ logprob }) => logprob)).toEqual(all.map(({ logprob }) => logprob).sort((left, right) => right - left));
    }),
  );
});
