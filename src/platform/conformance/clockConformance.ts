import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../index.js';

export interface ClockSubject {
  readonly name: string;
  readonly open: () => Clock;
  /** Makes `work` of the clock end: virtual time must be moved by someone. */
  readonly during: <Value>(clock: Clock, work: Promise<Value>) => Promise<Value>;
}

/** A signal, and how many listeners stand on it. */
const watchedSignal = (): { readonly signal: AbortSignal; readonly listeners: () => number } => {
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...given: Parameters<typeof addEventListener>): void => {
    listeners++;
    addEventListener.apply(signal, given);
  };
  signal.removeEventListener = (...given: Parameters<typeof removeEventListener>): void => {
    listeners--;
    removeEventListener.apply(signal, given);
  };
  return { signal, listeners: () => listeners };
};

/** What every Clock keeps. */
export function clockConformance({ name, open, during }: ClockSubject): void {
  describe(`Clock: ${name}`, () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    beforeAll(() => process.on('warning', onWarning));
    afterAll(() => process.off('warning', onWarning));

    it('sleeps for its time, and fires timers in the order of their times', async () => {
      const clock = open();
      const fromMs = clock.monotonicMs();
      const fired: string[] = [];
      clock.setTimer(8, () => fired.push('late'));
      clock.setTimer(2, () => fired.push('early'));
      clock.setTimer(4, () => fired.push('cancelled')).cancel();
      await during(clock, clock.sleep(20));
      expect(fired).toEqual(['early', 'late']);
      expect(clock.monotonicMs() - fromMs).toBeGreaterThanOrEqual(19);
      expect(Number.isInteger(clock.nowMs())).toBe(true);
    });

    it('gives a sleep up with the typed reason of its signal, at once when it has aborted', async () => {
      const clock = open();
      const stop = new AbortController();
      const asleep = Promise.allSettled([clock.sleep(60_000, stop.signal)]);
      stop.abort();
      expect(await asleep).toMatchObject([{ status: 'rejected', reason: { code: 'CANCELLED' } }]);
      await expect(clock.sleep(60_000, stop.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
    });

    it('leaves nothing on a signal that many sleeps share, while they sleep hardly anything', async () => {
      const clock = open();
      const { signal, listeners } = watchedSignal();
      const sleeps = Promise.all(Array.from({ length: 1000 }, () => clock.sleep(2, signal)));
      expect(listeners()).toBe(1);
      await during(clock, sleeps);
      expect(listeners()).toBe(0);
      await new Promise((resolve) => setImmediate(resolve)); // warnings come on a later tick
      expect(warnings).toEqual([]);
    });
  });
}
