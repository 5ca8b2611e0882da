import { toAbortError } from './toAbortError.js';

/** Waits for `work`, but no longer than until `signal` aborts; then rejects with the signal's reason as a typed error. `work` itself goes on. */
export function raceAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) {
    work.catch(() => undefined); // its failure is nobody's any more
    return Promise.reject(toAbortError(signal));
  }
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(toAbortError(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    const settle = (): void => signal.removeEventListener('abort', onAbort);
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
