import { describe, expect, it } from 'vitest';
import { QueueTimes } from './QueueTimes.js';

const open = (): QueueTimes => new QueueTimes({ queueTimeHalfLifeMs: 1000 });
const admit = (times: QueueTimes, queueMs: number, atMs: number): void => {
  times.enqueued(atMs - queueMs);
  times.admitted(queueMs, atMs);
};

describe('QueueTimes', () => {
  it('is the first wait at first, and nears what later ones wait', () => {
    const times = open();
    expect(times.meanMs(0)).toBe(0);
    admit(times, 800, 1000);
    expect(times.meanMs(1000)).toBe(800);
    for (let atMs = 1010; atMs < 3000; atMs += 10) admit(times, 5, atMs);
    expect(times.meanMs(3000)).toBeLessThan(6);
  });

  it('fades by half each half-life while nobody waits, to nothing; one new admission does not bring the old mean back', () => {
    const times = open();
    admit(times, 8000, 10_000);
    expect([times.meanMs(11_000), times.meanMs(13_000), times.meanMs(40_000)]).toEqual([4000, 1000, 0]);
    admit(times, 0, 13_000);
    expect(times.meanMs(13_000)).toBeLessThan(200);
  });

  it('does not fade while a request waits, and goes on fading when it has given up', () => {
    const times = open();
    admit(times, 1000, 1000);
    times.enqueued(1000);
    expect(times.meanMs(9000)).toBe(1000);
    times.gaveUp(9000);
    expect([times.meanMs(9000), times.meanMs(10_000)]).toEqual([1000, 500]);
  });
});
