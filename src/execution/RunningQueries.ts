import { baseError } from '../base/index.js';
import { executionError } from './errors.js';

export interface RunningQuery {
  readonly id: string;
  readonly database: string;
  readonly query: string;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  kill(): void;
}

/** Queries that this shard coordinates now. Those that rest, since nobody reads their results for now, are listed but hold no place. */
export class RunningQueries {
  readonly #queries = new Map<string, RunningQuery>();
  readonly #resting = new Set<string>();
  readonly #queriesMax: number;
  #entering = 0;

  constructor(options: { readonly queriesMax: number }) {
    this.#queriesMax = options.queriesMax;
  }

  /** A place for one that waits to be started, so that who finds none learns it at once; held until the returned call. Error QUEUE_FULL. */
  enter(): () => void {
    this.#demandPlace();
    this.#entering++;
    return () => this.#entering--;
  }

  /** Error QUEUE_FULL beyond the bound. */
  add(query: RunningQuery): void {
    this.#demandPlace();
    this.#queries.set(query.id, query);
  }

  delete(id: string): void {
    this.#queries.delete(id);
    this.#resting.delete(id);
  }

  /** The place of a query: left while it rests, and taken again, with QUEUE_FULL where there is none. Nothing for one that has ended. */
  placeOf(id: string): { leave(): void; take(): void } {
    return {
      leave: () => {
        if (this.#queries.has(id)) this.#resting.add(id);
      },
      take: () => {
        if (!this.#resting.has(id)) return;
        this.#demandPlace();
        this.#resting.delete(id);
      },
    };
  }

  list(): readonly RunningQuery[] {
    return [...this.#queries.values()];
  }

  /** Error QUERY_UNKNOWN. */
  kill(id: string): void {
    const query = this.#queries.get(id);
    if (!query) throw executionError('QUERY_UNKNOWN', `no running query has the id ${id}`);
    query.kill();
  }

  #demandPlace(): void {
    if (this.#queries.size - this.#resting.size + this.#entering < this.#queriesMax) return;
    throw baseError('QUEUE_FULL', `${this.#queriesMax} queries run on this shard already`);
  }
}
