import { toAbortError } from '../base/index.js';
import type { Clock } from '../platform/index.js';
import { executionError } from './errors.js';

interface PacerParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly paceMs: number;
  readonly stepsMax: number;
  readonly bytesMax: number;
}

/** A row may take all the steps there are; rows together are interrupted much sooner. */
const restsPerBlock = 32;

/** Keeps a long query from holding the event loop: `pace` at every block edge lets others run after `paceMs` of work, and ends on abort. */
export class Pacer {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #paceMs: number;
  readonly #stepsMax: number;
  readonly #bytesMax: number;
  #startedMs: number;
  #steps = 0;
  #bytes = 0;

  constructor(parts: PacerParts) {
    this.#clock = parts.clock;
    this.#signal = parts.signal;
    this.#paceMs = parts.paceMs;
    this.#stepsMax = parts.stepsMax;
    this.#bytesMax = parts.bytesMax;
    this.#startedMs = parts.clock.monotonicMs();
  }

  /** Work of expressions since the last rest. Error QUERY_KILLED beyond `stepsMax`. */
  step(count: number): void {
    this.#steps += count;
    if (this.#steps <= this.#stepsMax) return;
    throw executionError(
      'QUERY_KILLED',
      `query killed: one row's expressions took more than ${this.#stepsMax} steps, which run without a pause`,
    );
  }

  /** Memory of the values that expressions made since the last block edge. Error QUERY_MEMORY_LIMIT (32) beyond `bytesMax`. */
  allocate(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#bytesMax) return;
    throw executionError(
      'QUERY_MEMORY_LIMIT',
      `the expressions of one block make more than the query's memoryLimit of ${this.#bytesMax} bytes`,
    );
  }

  /** At a block edge: the values of the block before have moved on. */
  async pace(): Promise<void> {
    this.#bytes = 0;
    await this.rest();
  }

  /** Between rows of one block: true when their expressions have worked so long that others should run. */
  get isDue(): boolean {
    return this.#steps > this.#stepsMax / restsPerBlock;
  }

  /** Between rows of one block, whose values are all still held. */
  async rest(): Promise<void> {
    this.#steps = 0;
    if (this.#signal.aborted) throw toAbortError(this.#signal);
    if (this.#clock.monotonicMs() - this.#startedMs < this.#paceMs) return;
    await this.#clock.sleep(0, this.#signal);
    this.#startedMs = this.#clock.monotonicMs();
  }
}
