import fc from 'fast-check';
import { expect, it } from 'vitest';
import { costBetween } from './costBetween.js';

const known = [
  { rows: 8, ms: 50 },
  { rows: 2, ms: 20 },
];

it('lies on the line between the nearest measured sizes, in proportion below them, and is the biggest above', () => {
  expect([1, 2, 5, 8, 20].map((rows) => costBetween(known, rows))).toEqual([10, 20, 35, 50, 50]);
  expect(costBetween([], 4)).toBeUndefined();
});

it('is what was measured where something was, and never outside the two next to it', () => {
  const cost = fc.record({ rows: fc.integer({ min: 1, max: 64 }), ms: fc.double({ min: 1, max: 100, noNaN: true }) });
  const costs = fc.uniqueArray(cost, { selector: ({ rows }) => rows, minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(costs, fc.integer({ min: 1, max: 64 }), (list, rows) => {
      const ms = costBetween(list, rows) as number;
      const exact = list.find((one) => one.rows === rows);
      if (exact !== undefined) expect(ms).toBe(exact.ms);
      const bounds = list.map((one) => one.ms);
      expect(ms).toBeGreaterThanOrEqual(Math.min(...bounds.map((bound) => bound * Math.min(1, rows / 64))) - 1e-9);
      expect(ms).toBeLessThanOrEqual(Math.max(...bounds) + 1e-9);
    }),
  );
});
