import { expect, test } from 'vitest';
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

test.each([2 ** 31, 1e13, Number.POSITIVE_INFINITY])('a timer of %s ms does not fire at once', async (delayMs) => {
  const clock = new NodeClock();
  let hasFired = false;
  const timer = clock.setTimer(delayMs, () => {
    hasFired = true;
  });
  await clock.sleep(30);
  timer.cancel();
  expect(hasFired).toBe(false);
});
