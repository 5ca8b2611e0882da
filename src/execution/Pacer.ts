import { toAbortError } from '../base/index.js';
import type { Clock } from '../platform/index.js';

/** Keeps a long query from holding the event loop: `pace` at every block edge lets others run after `paceMs` of work, and ends on abort. */
export class Pacer {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #paceMs: number;
  #startedMs: number;

  constructor(parts: { readonly clock: Clock; readonly signal: AbortSignal; readonly paceMs: number }) {
    this.#clock = parts.clock;
    this.#signal = parts.signal;
    this.#paceMs = parts.paceMs;
    this.#startedMs = parts.clock.monotonicMs();
  }

  async pace(): Promise<void> {
    if (this.#signal.aborted) throw toAbortError(this.#signal);
    if (this.#clock.monotonicMs() - this.#startedMs < this.#paceMs) return;
    await this.#clock.sleep(0, this.#signal);
    this.#startedMs = this.#clock.monotonicMs();
  }
}
