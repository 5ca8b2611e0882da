import { baseError } from './errors.js';
import { raceAbort } from './raceAbort.js';

interface Work<Value> {
  readonly result: Promise<Value>;
  readonly stop: AbortController;
  callers: number;
}

/**
 * Work that is done once for all who ask for it under one key while it runs. It has a signal of its own: each caller stops waiting with
 * its own and leaves the others alone; when the last has left, the work is aborted. Who comes after that waits for its end and begins
 * anew, so that never two run under one key. Bounded by its callers.
 */
export class SharedWork<Value> {
  readonly #works = new Map<string, Work<Value>>();

  get size(): number {
    return this.#works.size;
  }

  /** Errors: those of the work, and of the caller's `signal`. */
  async run(key: string, start: (signal: AbortSignal) => Promise<Value>, signal: AbortSignal): Promise<Value> {
    for (let work = this.#works.get(key); work?.stop.signal.aborted; work = this.#works.get(key)) {
      await raceAbort(
        work.result.then(
          () => undefined,
          () => undefined,
        ),
        signal,
      );
    }
    return this.#wait(this.#works.get(key) ?? this.#begin(key, start), signal);
  }

  /** Ends the work for all who wait for it, as soon as it hears. */
  abort(key: string, reason: Error): void {
    this.#works.get(key)?.stop.abort(reason);
  }

  #begin(key: string, start: (signal: AbortSignal) => Promise<Value>): Work<Value> {
    const stop = new AbortController();
    const result = start(stop.signal).finally(() => this.#works.delete(key));
    const work = { result, stop, callers: 0 };
    this.#works.set(key, work);
    return work;
  }

  async #wait(work: Work<Value>, signal: AbortSignal): Promise<Value> {
    work.callers++;
    try {
      return await raceAbort(work.result, signal);
    } finally {
      work.callers--;
      // Of work that has ended nobody hears.
      if (work.callers === 0) work.stop.abort(baseError('CANCELLED', 'nobody waits for it any more'));
    }
  }
}
