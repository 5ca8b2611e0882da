import fc from 'fast-check';
import { expect, it } from 'vitest';
import { largestLogits } from './largestLogits.js';

const sorted = (logits: Float32Array): number[] =>
  [...logits.keys()].sort((left, right) => (logits[right] as number) - (logits[left] as number) || left - right);

it('finds the largest in falling order, lower ids first among equals, for any count', () => {
  const values = fc.oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.double({ min: -50, max: 50, noNaN: true }),
    fc.constant(Number.NEGATIVE_INFINITY),
  );
  fc.assert(
    fc.property(fc.array(values, { minLength: 1, maxLength: 300 }), fc.integer({ min: 1, max: 320 }), (all, count) => {
      const logits = Float32Array.from(all);
      const kept = sorted(logits).slice(0, count);
      expect([...largestLogits(logits, count)]).toEqual(kept);
    }),
  );
});

it('takes no more than sorting for a count near a whole vocabulary in rising order', () => {
  const logits = Float32Array.from({ length: 50_000 }, (_, token) => token / 1000);
  expect(largestLogits(logits, 49_999).slice(0, 2)).toEqual([49_999, 49_998]); // by insertions: half a minute, beyond the limit of a test
});
