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

/** Queries that this shard coordinates now. */
export class RunningQueries {
  readonly #queries = new Map<string, RunningQuery>();
  readonly #queriesMax: number;

  constructor(options: { readonly queriesMax: number }) {
    this.#queriesMax = options.queriesMax;
  }

  /** Error QUEUE_FULL beyond the bound. */
  add(query: RunningQuery): void {
    if (this.#queries.size >= this.#queriesMax) throw baseError('QUEUE_FULL', `${this.#queriesMax} queries run on this shard already`);
    this.#queries.set(query.id, query);
  }

  delete(id: string): void {
    this.#queries.delete(id);
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
}
