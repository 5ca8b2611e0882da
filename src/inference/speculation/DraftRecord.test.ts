import { expect, it } from 'vitest';
import { DraftRecord } from './DraftRecord.js';

const open = () => new DraftRecord({ draftShareFirst: 0.8, draftShareWeight: 0.25, draftRetryWeight: 0.1 });

it('rises with right tokens and falls with the first wrong one, those behind it say nothing', () => {
  const record = open();
  record.tried(2, 2);
  expect(record.share).toBeCloseTo(1 - 0.2 * 0.75 ** 2);
  const other = open();
  other.tried(7, 0);
  expect(other.share).toBeCloseTo(0.6);
});

it('returns to where it began while nothing is tried', () => {
  const record = open();
  for (let draft = 0; draft < 10; draft++) record.tried(4, 0);
  expect(record.share).toBeLessThan(0.1);
  for (let token = 0; token < 60; token++) record.rested();
  expect(record.share).toBeGreaterThan(0.79);
});
