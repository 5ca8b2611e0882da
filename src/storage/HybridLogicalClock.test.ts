import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/ManualClock.js';
import { HybridLogicalClock } from './HybridLogicalClock.js';
import type { Timestamp } from './Timestamp.js';

const startAfter = 0 as Timestamp;

it('every timestamp is later than all given or observed before, also when the wall clock steps back', async () => {
  const step = fc.oneof(
    fc.constant('now' as const),
    fc.integer({ min: -1000, max: 1000 }),
    fc.record({ ahead: fc.integer({ min: -1e7, max: 1e7 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const clock = new ManualClock();
      const timestamps = new HybridLogicalClock({ clock, startAfter });
      let newest = 0;
      for (const one of steps) {
        if (typeof one === 'number') await clock.advance(one);
        else if (one === 'now') {
          const now = timestamps.now();
          expect(now).toBeGreaterThan(newest);
          newest = now;
        } else {
          const seen = (timestamps.last() + one.ahead) as Timestamp;
          timestamps.observe(seen);
          newest = Math.max(newest, seen);
        }
        expect(timestamps.last()).toBeGreaterThanOrEqual(newest);
      }
    }),
    { numRuns: 30 },
  );
});

it('follows wall time, and starts after what it is told', async () => {
  const clock = new ManualClock();
  const timestamps = new HybridLogicalClock({ clock, startAfter });
  const first = timestamps.now();
  await clock.advance(10);
  expect(timestamps.now() - first).toBe(10 * 4096);
  expect(timestamps.before(10)).toBe(first);
  expect(new HybridLogicalClock({ clock, startAfter: (first * 2) as Timestamp }).now()).toBe(first * 2 + 1);
});

it('waits until wall time has passed a timestamp, and not when it has', async () => {
  const clock = new ManualClock();
  const timestamps = new HybridLogicalClock({ clock, startAfter });
  const ahead = (timestamps.now() + 5 * 4096) as Timestamp;
  let isPast = false;
  const waiting = timestamps.waitUntilPast(ahead).then(() => {
    isPast = true;
  });
  await clock.advance(5);
  expect(isPast).toBe(false);
  await clock.advance(1);
  await waiting;
  expect(new HybridLogicalClock({ clock, startAfter }).now()).toBeGreaterThan(ahead);
  await timestamps.waitUntilPast(ahead);
});
