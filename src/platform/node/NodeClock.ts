import { type Clock, sleepOn, type Timer } from '../index.js';

/** What setTimeout takes; it makes 1 ms of anything longer. */
const delayMsMax = 2 ** 31 - 1;

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

  /** Without a delay: when the event loop has turned once. A timeout would make it 1 ms. */
  setTimer(delayMs: number, callback: () => void): Timer {
    if (delayMs <= 0) {
      const next = setImmediate(callback);
      return { cancel: () => clearImmediate(next) };
    }
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      timer = leftMs > delayMsMax ? setTimeout(() => arm(leftMs - delayMsMax), delayMsMax) : setTimeout(callback, leftMs);
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(timer) };
  }
}
