import { expect, it } from 'vitest';
import { chooseDraftTokens } from './chooseDraftTokens.js';

/** As measured with the default model on one core: two rows cost much more than one, then each a little. */
const stepMs = (rows: number): number => (rows === 1 ? 12 : 25 + 4 * rows);
const one = (draftShare: number, draftedTokens = 7, answerTokensLeft = 100) => [{ draftedTokens, draftShare, answerTokensLeft }];
const rest = { stepMs, outputsMax: 48, mayDraft: true };
const choose = (decoding: Parameters<typeof chooseDraftTokens>[0]['decoding'], outputsMax = 48): number =>
  chooseDraftTokens({ ...rest, decoding, outputsMax }, { draftGainMin: 1.1 });

it('verifies as many drafted tokens as promise most tokens a millisecond, and none where that is no clear gain', () => {
  expect(choose(one(1))).toBe(7);
  expect(choose(one(0.95))).toBe(7);
  expect(choose(one(0.5))).toBe(0);
  expect(choose(one(1, 2))).toBe(0); // three tokens for more than three steps
  expect(choose(one(1, 0))).toBe(0);
});

it('lets a sequence without a draft compute rows for nothing where the others gain more than that costs', () => {
  expect(choose([...one(0.6), ...one(1, 0)])).toBe(0);
  expect(choose([...one(1), ...one(1, 0)])).toBe(7);
});

it('stays within the rows that may want logits, and within what every answer may still draw', () => {
  expect(choose([...one(1), ...one(1, 7, 5)])).toBe(4);
  expect(choose([...one(1), ...one(1, 7, 1)])).toBe(0);
  expect(choose([...one(1), ...one(1)])).toBe(7);
  expect(choose([...one(1), ...one(1)], 8)).toBe(3);
  expect(choose([...one(1), ...one(1)], 2)).toBe(0);
});

it('tries nothing while drafts have lost too much', () => {
  expect(chooseDraftTokens({ ...rest, decoding: one(1), mayDraft: false }, { draftGainMin: 1.1 })).toBe(0);
});

it('tries nothing before a step was measured', () => {
  expect(chooseDraftTokens({ ...rest, decoding: one(1), stepMs: () => undefined }, { draftGainMin: 1.1 })).toBe(0);
});
