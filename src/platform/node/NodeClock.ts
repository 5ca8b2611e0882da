import { toAbortError } from '../../base/index.js';
import type { Clock, Timer } from '../index.js';

/** Real time. Timers keep the process alive: whoever sets one cancels it on stop. */
export class NodeClock implements Clock {
  nowMs(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(toAbortError(signal));
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(toAbortError(signal as AbortSignal));
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, delayMs);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  }
}
