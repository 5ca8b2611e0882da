import type { JsonValue } from '../base/index.js';
import type { DistributedTransaction } from '../transactions/index.js';
import type { QueryStats } from './QueryStats.js';
import type { QueryWarning } from './WarningList.js';

/** Options of one query; names and units are ArangoDB's. */
export interface QueryOptions {
  /** Seconds. */
  readonly maxRuntime?: number;
  /** Bytes, on each shard. */
  readonly memoryLimit?: number;
  readonly maxWarningCount?: number;
  readonly failOnWarning?: boolean;
  /** `-all`, `-rule`, `+rule`. */
  readonly optimizerRules?: readonly string[];
}

export interface QueryRequest {
  readonly database: string;
  readonly query: string;
  /** Collection parameters stand under `@name`. */
  readonly bindVars?: { readonly [name: string]: JsonValue };
  readonly options?: QueryOptions;
  /** Runs inside this transaction: its caller commits or aborts. */
  readonly transaction?: DistributedTransaction;
  readonly signal: AbortSignal;
}

export interface QueryExtra {
  readonly warnings: readonly QueryWarning[];
  /** `executionTime` in seconds. */
  readonly stats: QueryStats & { readonly executionTime: number };
}

/** A query that runs. */
export interface QueryCursor {
  readonly id: string;
  /** Results in blocks; read once. Ending early ends the query. Errors of the query come from here. */
  readonly blocks: AsyncIterable<readonly JsonValue[]>;
  /** Of results that are there before they are read, in bytes, about: those of a query that writes, which has ended. */
  readonly bufferedBytes: number;
  /**
   * Accounts for results that whoever reads keeps, in bytes, to be released when they are handed on; nothing for buffered ones. Error
   * QUERY_MEMORY_LIMIT.
   */
  readonly held: { hold(value: JsonValue): number; release(bytes: number): void };
  /** A query that nobody reads for now leaves its place to others and takes one again before it is read on. Error QUEUE_FULL of `take`. */
  readonly place: { leave(): void; take(): void };
  /** Complete once `blocks` has ended. */
  extra(): QueryExtra;
}
