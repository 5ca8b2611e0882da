import { onAbort, toAbortError } from '../base/index.js';
import type { Clock, Timer } from './Clock.js';

/** `Clock.sleep` by means of `Clock.setTimer`: the one way in which every clock, real or virtual, waits. */
export function sleepOn(clock: Pick<Clock, 'setTimer'>, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(toAbortError(signal));
      return;
    }
    let forget = (): void => undefined;
    const timer: Timer = clock.setTimer(delayMs, () => {
      forget();
      resolve();
    });
    if (signal === undefined) return;
    forget = onAbort(signal, () => {
      timer.cancel();
      reject(toAbortError(signal));
    });
  });
}
