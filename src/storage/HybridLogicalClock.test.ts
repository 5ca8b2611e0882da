import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/ManualClock.js';
import { HybridLogicalClock } from './HybridLogicalClock.js';
import type { Timestamp } from './Timestamp.js';

const startAfter = 0 as Timestamp;
const aheadMsMax = 10_000;
const { signal } = new AbortController();

it('every timestamp is later than all given or observed before, also when the wall clock steps back', async () => {
  const step = fc.oneof(
    fc.constant('now' as const),
    fc.integer({ min: -1000, max: 1000 }),
    fc.record({ ahead: fc.integer({ min: -1e7, max: 1e7 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const clock = new ManualClock();
      const timestamps = new HybridLogicalClock({ clock, startAfter, aheadMsMax });
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
  const timestamps = new HybridLogicalClock({ clock, startAfter, aheadMsMax });
  const first = timestamps.now();
  await clock.advance(10);
  expect(timestamps.now() - first).toBe(10 * 4096);
  expect(timestamps.before(10)).toBe(first);
  expect(new HybridLogicalClock({ clock, startAfter: (first * 2) as Timestamp, aheadMsMax }).now()).toBe(first * 2 + 1);
});

it('waits until wall time has passed a timestamp, and not when it has', async () => {
  const clock = new ManualClock();
  const timestamps = new HybridLogicalClock({ clock, startAfter, aheadMsMax });
  const ahead = (timestamps.now() + 5 * 4096) as Timestamp;
  let isPast = false;
  const waiting = timestamps.waitUntilPast(ahead, signal).then(() => {
    isPast = true;
  });
  await clock.advance(5);
  expect(isPast).toBe(false);
  await clock.advance(1);
  await waiting;
  expect(new HybridLogicalClock({ clock, startAfter, aheadMsMax }).now()).toBeGreaterThan(ahead);
  await timestamps.waitUntilPast(ahead, signal);
});

it('refuses a timestamp further ahead than aheadMsMax whole, and takes in one at the limit', () => {
  const clock = new ManualClock();
  const timestamps = new HybridLogicalClock({ clock, startAfter, aheadMsMax });
  const now = timestamps.now();
  expect(() => timestamps.observe((now + aheadMsMax * 4096 + 1) as Timestamp)).toThrowError(
    expect.objectContaining({ code: 'CLOCK_AHEAD', retryable: true }),
  );
  expect(timestamps.last()).toBe(now);
  timestamps.observe((now + aheadMsMax * 4096) as Timestamp);
  expect(timestamps.last()).toBe(now + aheadMsMax * 4096);
});

it('goes on with the others after its wall clock was set back, but takes no commit that would have to wait for it', async () => {
  const before = new ManualClock();
  const last = new HybridLogicalClock({ clock: before, startAfter, aheadMsMax }).now();
  const clock = new ManualClock(before.nowMs() - 3_600_000);
  const timestamps = new HybridLogicalClock({ clock, startAfter: last, aheadMsMax });
  timestamps.observe((last + 4096) as Timestamp);
  expect(timestamps.now()).toBeGreaterThan(last + 4096);
  expect(() => timestamps.demandNear()).toThrowError(expect.objectContaining({ code: 'CLOCK_AHEAD' }));
  await clock.advance(3_600_000);
  timestamps.demandNear();
});

it('waits no longer than aheadMsMax for what is committed already, and no longer than anybody wants the answer; it never fails', async () => {
  const clock = new ManualClock();
  const timestamps = new HybridLogicalClock({ clock, startAfter, aheadMsMax });
  const ahead = (timestamps.now() + 3_600_000 * 4096) as Timestamp;
  const caller = new AbortController();
  const [bounded, given] = [timestamps.waitUntilPast(ahead, signal), timestamps.waitUntilPast(ahead, caller.signal)];
  caller.abort();
  await given;
  await clock.advance(aheadMsMax);
  await bounded;
  expect(clock.timers).toBe(0);
});
