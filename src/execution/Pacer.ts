import { executionError } from './errors.js';
import type { MemoryAccount } from './MemoryAccount.js';
import type { TurnPart, Turns } from './Turns.js';

interface PacerParts {
  readonly turns: Turns;
  readonly part: TurnPart;
  readonly signal: AbortSignal;
  readonly stepsMax: number;
  /** Of the part of the query that is paced. */
  readonly memory: MemoryAccount;
}

/** A row may take all the steps there are; rows together are interrupted much sooner. */
const restsPerBlock = 256;

/** Keeps a long query from holding the event loop: `pace` at every block edge lets others run when its turn is over, and ends on abort. */
export class Pacer {
  readonly #parts: PacerParts;
  #steps = 0;

  constructor(parts: PacerParts) {
    this.#parts = parts;
  }

  /** For a part of the query that is counted by itself; `isBeside`: it runs beside this one, and waits for turns of its own. */
  fork({ isBeside, ...own }: Pick<PacerParts, 'memory' | 'signal'> & { readonly isBeside: boolean }): Pacer {
    const { part } = this.#parts;
    return new Pacer({ ...this.#parts, ...own, part: isBeside ? { owner: part.owner } : part });
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
  rest(): Promise<void> {
    const { turns, part, signal } = this.#parts;
    this.#steps = 0;
    return turns.rest(part, signal);
  }
}
