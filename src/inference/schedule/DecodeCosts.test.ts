import { expect, it } from 'vitest';
import { DecodeCosts } from './DecodeCosts.js';

const options = { stepCostWeight: 0.1, stepCostGrowthMax: 3, stepCostFreshSteps: 100 };

it('keeps the cost of each number of rows apart', () => {
  const costs = new DecodeCosts(options);
  costs.record(1, 11);
  costs.record(2, 29);
  costs.record(8, 51);
  expect([1, 2, 8].map((rows) => costs.stepMs(rows))).toEqual([11, 29, 51]);
});

it('learns little from a step in which the process stood still, and soon that a machine became slower', () => {
  const costs = new DecodeCosts(options);
  costs.record(1, 10);
  costs.record(1, 6_000);
  expect(costs.stepMs(1)).toBeLessThan(13);
  costs.record(2, 6_000);
  expect(costs.stepMs(2)).toBeLessThan(40);
  for (let step = 0; step < 40; step++) costs.record(1, 50);
  expect(costs.stepMs(1)).toBeGreaterThan(45);
});

it('forgets for a choice what has not been tried for long, and keeps it for an estimate', () => {
  const costs = new DecodeCosts(options);
  costs.record(1, 600);
  for (let step = 0; step < 99; step++) costs.record(2, 30);
  expect(costs.freshStepMs(1)).toBe(600);
  costs.record(2, 30);
  expect(costs.freshStepMs(1)).toBe(15);
  expect(costs.stepMs(1)).toBe(600);
});
