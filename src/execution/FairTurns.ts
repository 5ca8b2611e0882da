import { baseError, onAbort, toAbortError } from '../base/index.js';
import type { Clock } from '../platform/index.js';
import type { ExecutionOptions } from './options.js';
import type { TurnPart, Turns } from './Turns.js';

interface Waiter {
  readonly part: TurnPart;
  readonly go: () => void;
}

type Options = Pick<ExecutionOptions, 'paceMs' | 'turnsQueuedMax' | 'turnsTogetherMax'>;

/**
 * One for all work of a shard, so that its event loop turns after `paceMs` of work however many queries run: with a clock for each, every
 * one of them would work so long before the loop turns. Whoever waits is served in the order of the owners, and of the parts of each. A
 * part that had the turn may go on until the time is over. While turns are short, as those of small queries are, several parts share one, so
 * that the loop does not turn for each; as soon as one is long, each part has its own. On an idle shard nobody waits. Never knows what the
 * work is.
 */
export class FairTurns implements Turns {
  readonly #clock: Clock;
  readonly #options: Options;
  /** Owners in the order of their turns, each with its parts that wait; an owner of none is absent. */
  readonly #waiting = new Map<object, Set<Waiter>>();
  #waiters = 0;
  /** Parts that have the turn. */
  readonly #holders = new Set<TurnPart>();
  #holdersMax = 1;
  #startedMs = 0;
  /** Somebody has worked since the loop turned, which has been asked to turn again. */
  #isTurning = false;

  constructor(parts: { readonly clock: Clock; readonly options: Options }) {
    this.#clock = parts.clock;
    this.#options = parts.options;
  }

  async rest(part: TurnPart, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw toAbortError(signal);
    if (!this.#isTurning) this.#begin();
    if (!this.#mayGoOn(part)) await this.#wait(part, signal);
  }

  #begin(): void {
    this.#isTurning = true;
    this.#startedMs = this.#clock.monotonicMs();
    void this.#takeTurns();
  }

  /** The loop is asked to turn before the work is done: it is never idle while somebody waits. */
  async #takeTurns(): Promise<void> {
    do await this.#clock.sleep(0);
    while (this.#giveTurn());
    this.#isTurning = false;
  }

  #mayGoOn(part: TurnPart): boolean {
    if (this.#clock.monotonicMs() - this.#startedMs >= this.#options.paceMs) return false;
    if (this.#holders.has(part)) return true;
    if (this.#waiters > 0 || this.#holders.size >= this.#holdersMax) return false;
    this.#holders.add(part);
    return true;
  }

  /** False: nobody waits. */
  #giveTurn(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#holdersMax = this.#holdersNext(nowMs - this.#startedMs);
    this.#startedMs = nowMs;
    this.#holders.clear();
    while (this.#holders.size < this.#holdersMax) {
      const waiter = this.#takeFirst();
      if (!waiter) break;
      this.#holders.add(waiter.part);
      waiter.go();
    }
    return this.#holders.size > 0;
  }

  #holdersNext(workedMs: number): number {
    const { paceMs, turnsTogetherMax } = this.#options;
    return workedMs >= paceMs / 2 ? 1 : Math.min(this.#holdersMax * 2, turnsTogetherMax);
  }

  #takeFirst(): Waiter | undefined {
    const [[owner, waiters] = []] = this.#waiting;
    const [first] = waiters ?? [];
    if (!owner || !waiters || !first) return undefined;
    this.#leave(first);
    if (this.#waiting.delete(owner)) this.#waiting.set(owner, waiters); // its other parts wait for its next turn
    return first;
  }

  #wait(part: TurnPart, signal: AbortSignal): Promise<void> {
    const { turnsQueuedMax } = this.#options;
    if (this.#waiters >= turnsQueuedMax) throw baseError('QUEUE_FULL', `${turnsQueuedMax} parts of queries wait for their turn already`);
    return new Promise((resolve, reject) => {
      const go = (): void => {
        forget();
        resolve();
      };
      const waiter = this.#enter({ part, go });
      const forget = onAbort(signal, () => {
        this.#leave(waiter);
        reject(toAbortError(signal));
      });
    });
  }

  #enter(waiter: Waiter): Waiter {
    const { owner } = waiter.part;
    this.#waiting.set(owner, (this.#waiting.get(owner) ?? new Set()).add(waiter));
    this.#waiters++;
    return waiter;
  }

  #leave(waiter: Waiter): void {
    const { owner } = waiter.part;
    const waiters = this.#waiting.get(owner);
    if (!waiters?.delete(waiter)) return;
    this.#waiters--;
    if (waiters.size === 0) this.#waiting.delete(owner);
  }
}
