import { type Clock, sleepOn, type Timer } from '../../src/platform/index.js';

interface Due {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * Virtual time for tests of one engine: jumps to the next timer as soon as the program has nothing else to do (a turn of the event loop
 * without a promise left to run). A test of minutes takes milliseconds; timers fire in order of their time, then of their setting.
 */
export class QuickClock implements Clock {
  readonly #timers = new Set<Due>();
  #nowMs = 0;
  #order = 0;
  #jumping = false;

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
    const due: Due = { atMs: this.#nowMs + Math.max(delayMs, 0), order: this.#order++, callback };
    this.#timers.add(due);
    this.#jump();
    return { cancel: () => this.#timers.delete(due) };
  }

  #jump(): void {
    if (this.#jumping) return;
    this.#jumping = true;
    setImmediate(() => {
      this.#jumping = false;
      const next = [...this.#timers].sort((left, right) => left.atMs - right.atMs || left.order - right.order)[0];
      if (next === undefined) return;
      this.#timers.delete(next);
      this.#nowMs = next.atMs;
      next.callback();
      this.#jump();
    });
  }
}
