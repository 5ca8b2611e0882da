import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/ManualClock.js';
import { clockConformance } from '../conformance/clockConformance.js';
import { NodeClock } from './NodeClock.js';

clockConformance({ name: 'of the machine', open: () => new NodeClock(), during: (_, work) => work });

clockConformance({
  name: 'moved by hand',
  open: () => new ManualClock(),
  during: async (clock, work) => {
    await (clock as ManualClock).advance(20);
    return work;
  },
});

it('a timer further off than the runtime counts is not due at once', async () => {
  const clock = new NodeClock();
  let isDue = false;
  const timers = [2 ** 31, 2 ** 53, Number.MAX_VALUE].map((delayMs) =>
    clock.setTimer(delayMs, () => {
      isDue = true;
    }),
  );
  await new Promise<void>((resolve) => void clock.setTimer(2, resolve));
  expect(isDue).toBe(false);
  for (const timer of timers) timer.cancel();
});
