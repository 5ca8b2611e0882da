import { type Clock, sleepOn, type Timer } from '../index.js';

/** Node takes a longer delay for none at all. */
const timerMsMax = 2 ** 31 - 1;

/** Real time. Timers keep the process alive: whoever sets one cancels it on stop. */
export class NodeClock implements Clock {
  nowMs(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = setTimeout(callback, Math.min(delayMs, timerMsMax));
    return { cancel: () => clearTimeout(timer) };
  }
}
