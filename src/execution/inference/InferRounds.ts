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

/**
 * Runs until it waits for answers or ends. What it needs more memory for than there is beside the others, before it has asked anything,
 * it says, having left nothing behind: it is run again when those have gone on.
 */
export type RoundRun = () => Promise<{ readonly memoryError: unknown } | undefined>;

/** What a run sees of the others. */
export interface Rounds {
  /** Runs all, also runs of a run: that one waits for them meanwhile. Throws what failed first. */
  run(runs: readonly RoundRun[], hasRoom: () => boolean): Promise<void>;
  /** Answers the rows of a window together with those of the other runs. Errors: those of `answer`, for all that asked. */
  ask(request: RoundRequest): Promise<void>;
}

interface Waiting extends RoundRequest {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Start {
  readonly hasRoom: () => boolean;
  readonly start: () => void;
}

const never = (): boolean => false;

/**
 * Runs the subqueries of several outer rows together and asks the models for all of them at once (R15, R25), instead of once for every
 * outer row. One works at a time, in order, until it waits for answers or has ended; then the next one goes on, or starts if memory has
 * room for it; when none is left, one scatter for each node goes out for what they wait for. So what is alive at a time depends on the
 * query alone, never on which shard or model was faster. A failure ends all of them. Owns no rows; how many run together is the caller's
 * bound.
 */
export class InferRounds implements Rounds {
  /** Those that go on next, in order: answered, or their own runs have ended. */
  readonly #ready: (() => void)[] = [];
  /** Not yet begun; runs of a run stand before its neighbours, so that few are half done. */
  readonly #starts: Start[] = [];
  #waiting: Waiting[] = [];
  #failure: { readonly error: unknown } | undefined;

  async run(runs: readonly RoundRun[], hasRoom: () => boolean): Promise<void> {
    if (runs.length > 0) await new Promise<void>((resolve) => this.#begin(runs, { hasRoom, resolve }));
    if (this.#failure) throw this.#failure.error;
  }

  ask(request: RoundRequest): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...request, resolve, reject });
      this.#next();
    });
  }

  /** The caller hands its turn over until the last of its runs hands it back. */
  #begin(runs: readonly RoundRun[], { hasRoom, resolve }: { readonly hasRoom: () => boolean; readonly resolve: () => void }): void {
    let left = runs.length;
    const end = (): void => {
      left--;
      if (left === 0) this.#ready.push(resolve);
    };
    this.#starts.unshift(...runs.map((each) => ({ hasRoom, start: () => void this.#one(each, end) })));
    this.#next();
  }

  /** Never rejects. */
  async #one(each: RoundRun, end: () => void): Promise<void> {
    const again = await this.#outcomeOf(each);
    if (again) this.#starts.unshift({ hasRoom: never, start: () => void this.#one(each, end) });
    else end();
    this.#next();
  }

  /** True where it is to be run again: there was no memory for it beside those that wait. */
  async #outcomeOf(each: RoundRun): Promise<boolean> {
    try {
      if (this.#failure) return false;
      const short = await each();
      if (short && this.#waiting.length === 0) throw short.memoryError;
      return short !== undefined;
    } catch (error) {
      this.#failure ??= { error };
      return false;
    }
  }

  /** Somebody has given up its turn. */
  #next(): void {
    const goOn = this.#ready.shift();
    const [first] = this.#starts;
    if (goOn) goOn();
    else if (first && (this.#waiting.length === 0 || this.#failure || first.hasRoom())) this.#starts.shift()?.start();
    else if (this.#waiting.length > 0) void this.#answer();
  }

  /** Never rejects: everybody who waits hears what happened. They go on in order once all are answered. */
  async #answer(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      if (this.#failure) throw this.#failure.error;
      await scatterAll(waiting);
      this.#ready.push(...waiting.map(({ resolve }) => resolve));
      this.#next();
    } catch (error) {
      this.#failure ??= { error };
      for (const { reject } of waiting) reject(error);
    }
  }
}

/** Ends when all have ended, also where one fails. */
const scatterAll = async (waiting: readonly Waiting[]): Promise<void> => {
  const nodes = [...new Set(waiting.map(({ node }) => node))];
  const ended = await Promise.allSettled(nodes.map((node) => scatter(waiting.filter((one) => one.node === node))));
  const failed = ended.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
};

const scatter = async (requests: readonly RoundRequest[]): Promise<void> => {
  const [{ rowsMax, answer }] = requests as [RoundRequest, ...RoundRequest[]];
  const rows = requests.flatMap(({ window }) => window);
  for (const part of chunked(rows, rowsMax)) await answer(part);
};
