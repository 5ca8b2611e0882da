import { toAbortError } from '../base/index.js';
import type { Clock } from '../platform/index.js';
import { executionError } from './errors.js';
import type { MemoryAccount } from './MemoryAccount.js';

interface PacerParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly paceMs: number;
  readonly stepsMax: number;
  /** Of the part of the query that is paced. */
  readonly memory: MemoryAccount;
}

/** A row may take all the steps there are; rows together are interrupted much sooner. */
const restsPerBlock = 256;

/** Keeps a long query from holding the event loop: `pace` at every block edge lets others run after `paceMs` of work, and ends on abort. */
export class Pacer {
  readonly #parts: PacerParts;
  /** One for all parts of a query: they share the time that it may hold the loop. */
  readonly #work: { startedMs: number };
  #steps = 0;

  constructor(parts: PacerParts, work = { startedMs: parts.clock.monotonicMs() }) {
    this.#parts = parts;
    this.#work = work;
  }

  /** For a part of the query that runs beside others. */
  fork(own: Pick<PacerParts, 'memory' | 'signal'>): Pacer {
    return new Pacer({ ...this.#parts, ...own }, this.#work);
  }

  /** Work of expressions since the last rest. Error QUERY_KILLED beyond `stepsMax`. */
  step(count: number): void {
    const { stepsMax } = this.#parts;
    this.#steps += count;
    if (this.#steps <= stepsMax) return;
    throw executionError('QUERY_KILLED', `query killed: one row's expressions took more than ${stepsMax} steps, which run without a pause`);
  }

  /** At a block edge: the values of the block before have moved on. */
  async pace(): Promise<void> {
    this.#parts.memory.moveOn();
    await this.rest();
  }

  /** Between rows of one block: true when their expressions have worked so long that others should run. */
  get isDue(): boolean {
    return this.#steps > this.#parts.stepsMax / restsPerBlock;
  }

  /** Between rows of one block, whose values are all still held. */
  async rest(): Promise<void> {
    const { signal, clock, paceMs } = this.#parts;
    this.#steps = 0;
    if (signal.aborted) throw toAbortError(signal);
    if (clock.monotonicMs() - this.#work.startedMs < paceMs) return;
    await clock.sleep(0, signal);
    this.#work.startedMs = clock.monotonicMs();
  }
}
