import { onAbort } from './onAbort.js';
import { toAbortError } from './toAbortError.js';

/** Waits for `work`, but no longer than until `signal` aborts; then rejects with the signal's reason as a typed error. `work` itself goes on. */
export function raceAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) {
    work.catch(() => undefined); // its failure is nobody's any more
    return Promise.reject(toAbortError(signal));
  }
  return new Promise((resolve, reject) => {
    const settle = onAbort(signal, () => reject(toAbortError(signal)));
    work.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}
