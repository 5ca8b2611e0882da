import type { InferNode } from '../../aql/index.js';
import type { Row } from '../Block.js';
import { chunked } from '../chunked.js';

/** The rows of one run that want answers. */
export interface RoundRequest {
  /** Rows of one node are answered together. */
  readonly node: InferNode;
  readonly window: readonly Row[];
  /** Rows of one scatter. */
  readonly rowsMax: number;
  /** Sets the answers in the rows, also in those of other runs. */
  readonly answer: (rows: readonly Row[]) => Promise<void>;
}

interface Waiting extends RoundRequest {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs the subqueries of several outer rows side by side and asks the models for all of them at once: when every run waits for answers or
 * has ended, one scatter goes out for what they wait for (R15, R25), instead of one for every outer row. A failure ends all of them.
 * Owns no rows; how many run side by side is the caller's bound.
 */
export class InferRounds {
  #running = 0;
  #waiting: Waiting[] = [];
  #failure: { readonly error: unknown } | undefined;

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

  /** Answers the rows of a window together with those of the other runs. Errors: those of `answer`, for all that asked with it. */
  ask(request: RoundRequest): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...request, resolve, reject });
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
      await scatter(waiting);
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}

const scatter = async (requests: readonly RoundRequest[]): Promise<void> => {
  const [{ rowsMax, answer }] = requests as [RoundRequest, ...RoundRequest[]];
  const rows = requests.flatMap(({ window }) => window);
  for (const part of chunked(rows, rowsMax)) await answer(part);
};
