import type { LogFields, Logger, Metrics, Random } from '../../src/platform/index.js';

/** A logger that keeps the names of its events. */
export class EventLog implements Logger {
  readonly events: { readonly event: string; readonly fields: LogFields | undefined }[] = [];
  readonly #write = (event: string, fields?: LogFields): void => void this.events.push({ event, fields });
  readonly debug = this.#write;
  readonly info = this.#write;
  readonly warn = this.#write;
  readonly error = this.#write;
  child(): Logger {
    return this;
  }
}

export const silentMetrics: Metrics = {
  counter: () => ({ add: () => undefined }),
  gauge: () => ({ set: () => undefined }),
  histogram: () => ({ observe: () => undefined }),
  render: async () => '',
};

/** The same numbers in every run. */
export class CountingRandom implements Random {
  #state: number;
  constructor(seed = 1) {
    this.#state = seed;
  }
  uint32(): number {
    this.#state = (this.#state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return this.#state;
  }
  next(): number {
    return this.uint32() / 2 ** 32;
  }
  fork(): Random {
    return new CountingRandom(this.uint32());
  }
}
