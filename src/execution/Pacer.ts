import { toAbortError } from '../base/index.js';
import type { Clock } from '../platform/index.js';
import { executionError } from './errors.js';

/** Keeps a long query from holding the event loop: `pace` at every block edge lets others run after `paceMs` of work, and ends on abort. */
export class Pacer {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #paceMs: number;
  readonly #stepsMax: number;
  #startedMs: number;
  #steps = 0;

  constructor(parts: { readonly clock: Clock; readonly signal: AbortSignal; readonly paceMs: number; readonly stepsMax: number }) {
    this.#clock = parts.clock;
    this.#signal = parts.signal;
    this.#paceMs = parts.paceMs;
    this.#stepsMax = parts.stepsMax;
    this.#startedMs = parts.clock.monotonicMs();
  }

  /** Work of expressions since the last block edge. Error QUERY_KILLED beyond `stepsMax`. */
  step(count: number): void {
    this.#steps += count;
    if (this.#steps <= this.#stepsMax) return;
    throw executionError(
      'QUERY_KILLED',
      `query killed: the expressions of one block took more than ${this.#stepsMax} steps without a pause`,
    );
  }

  async pace(): Promise<void> {
    this.#steps = 0;
    if (this.#signal.aborted) throw toAbortError(this.#signal);
    if (this.#clock.monotonicMs() - this.#startedMs < this.#paceMs) return;
    await this.#clock.sleep(0, this.#signal);
    this.#startedMs = this.#clock.monotonicMs();
  }
}
