import { expect, it } from 'vitest';
import { chooseDraftTokens } from './chooseDraftTokens.js';

/** As measured with the default model on one core: two rows cost much more than one, then each a little. */
const stepMs = (rows: number): number => (rows === 1 ? 12 : 25 + 4 * rows);
const one = (draftShare: number, draftedTokens = 7) => [{ draftedTokens, draftShare }];
const choose = (decoding: Parameters<typeof chooseDraftTokens>[0]['decoding'], outputsMax = 48): number =>
  chooseDraftTokens({ decoding, stepMs, outputsMax }, { draftGainMin: 1.1 });

it('verifies as many drafted tokens as promise most tokens a millisecond, and none where that is no clear gain', () => {
  expect(choose(one(1))).toBe(7);
  expect(choose(one(0.95))).toBe(7);
  expect(choose(one(0.5))).toBe(0);
  expect(choose(one(1, 2))).toBe(0); // three tokens for more than three steps
  expect(choose(one(1, 0))).toBe(0);
});

it('drafts for all sequences of a step or for none, within the rows that may want logits', () => {
  expect(choose([...one(1), ...one(1, 0)])).toBe(0);
  expect(choose([...one(1), ...one(1)])).toBe(7);
  expect(choose([...one(1), ...one(1)], 8)).toBe(3);
  expect(choose([...one(1), ...one(1)], 2)).toBe(0);
});

it('tries nothing before a step was measured', () => {
  expect(chooseDraftTokens({ decoding: one(1), stepMs: () => undefined, outputsMax: 48 }, { draftGainMin: 1.1 })).toBe(0);
});
