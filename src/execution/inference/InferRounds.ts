import type { InferNode } from '../../aql/index.js';
import type { Row } from '../Block.js';
import { chunked } from '../chunked.js';
import type { SequenceContext } from '../SequenceContext.js';
import type { InferCalls } from './InferCalls.js';
import { runInferWindow } from './runInferWindow.js';

/** The rows of one run that wait for their answers. */
interface Waiting {
  readonly node: InferNode;
  readonly window: readonly Row[];
  readonly calls: InferCalls;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs the subqueries of several outer rows side by side and asks the models for all of them at once: when every run waits for answers or
 * has ended, one scatter goes out for what they wait for (R15, R25), instead of one for every outer row. A failure ends all of them.
 * Owns no rows; how many run side by side is the caller's bound.
 */
export class InferRounds {
  readonly #context: SequenceContext;
  #running = 0;
  #waiting: Waiting[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(context: SequenceContext) {
    this.#context = context;
  }

  /** Runs all, also runs of a run: that one waits for them meanwhile. Throws what failed first. */
  async run(runs: readonly (() => Promise<void>)[], isNested: boolean): Promise<void> {
    this.#running += runs.length - (isNested ? 1 : 0);
    let left = runs.length;
    // The last one hands its place to the run that waits for all of them: nobody is asked between the two.
    const end = (): void => {
      left--;
      if (left > 0 || !isNested) this.#running--;
      this.#askWhenAllWait();
    };
    await Promise.all(runs.map((each) => this.#one(each).finally(end)));
    if (this.#failure) throw this.#failure.error;
  }

  /** Answers the rows of a window together with those of the other runs. Errors: those of runInferWindow, for all that asked with it. */
  ask(node: InferNode, window: readonly Row[], calls: InferCalls): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ node, window, calls, resolve, reject });
      this.#askWhenAllWait();
    });
  }

  async #one(each: () => Promise<void>): Promise<void> {
    try {
      await each();
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #askWhenAllWait(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#running) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const node of new Set(waiting.map((one) => one.node))) void this.#answer(waiting.filter((one) => one.node === node));
  }

  /** Never rejects: everybody who waits hears what happened. */
  async #answer(waiting: readonly Waiting[]): Promise<void> {
    try {
      if (this.#failure) throw this.#failure.error;
      await this.#scatter(waiting);
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  async #scatter(waiting: readonly Waiting[]): Promise<void> {
    const [{ node, calls, window }] = waiting as [Waiting, ...Waiting[]];
    const rows = waiting.flatMap((one) => one.window);
    const { max_rows } = calls.optionsOf(window[0] as Row).batch;
    for (const part of chunked(rows, max_rows)) await runInferWindow(node, part, calls, this.#context);
  }
}
