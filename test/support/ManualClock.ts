import { type Clock, sleepOn, type Timer } from '../../src/platform/index.js';

interface Entry {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** Time that a test moves by hand: `advance` fires what falls due, in order. Sleeps of a signal that aborts reject with its reason. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<Entry>();

  constructor(nowMs = 1_700_000_000_000) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return Math.floor(this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const entry = { dueMs: this.#nowMs + delayMs, callback };
    this.#timers.add(entry);
    return { cancel: () => void this.#timers.delete(entry) };
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Moves time; between two timers everything that is ready runs. */
  async advance(ms: number): Promise<void> {
    const end = this.#nowMs + ms;
    await settle();
    for (let next = this.#due(end); next; next = this.#due(end)) {
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#nowMs = end;
    await settle();
  }

  #due(end: number): Entry | undefined {
    return [...this.#timers].filter(({ dueMs }) => dueMs <= end).sort((left, right) => left.dueMs - right.dueMs)[0];
  }
}

/** A clock whose sleeps end at once, moving time. */
export class SleepingClock extends ManualClock {
  override async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await this.advance(delayMs);
  }
}

/** Lets everything run that waits for nothing but promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
