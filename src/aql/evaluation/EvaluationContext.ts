import type { JsonValue } from '../../base/index.js';

/** What compiled expressions may reach besides their row: nothing here is a global, so a query replays under a seed. */
export interface EvaluationContext {
  /** Wall time of the query's start, milliseconds since 1970. */
  readonly nowMs: number;
  /** Uniform in [0, 1). */
  random(): number;
  /** Records a warning; the expression goes on with null. `errorNum` is ArangoDB's number. */
  warn(errorNum: number, message: string): void;
  /**
   * Counts work that grows with data, before it is done: an expression runs without a pause, so that beyond a bound the query must end
   * with a typed error instead of holding its shard.
   */
  step(count: number): void;
  /**
   * Counts memory that the expression is about to take for a value it makes. What is shared with another value is not taken again.
   * Error QUERY_MEMORY_LIMIT beyond the query's limit.
   */
  allocate(bytes: number): void;
  /** The query's limit: no value that an expression answers with is larger, its shared parts counted as often as they are read. */
  readonly memoryLimitBytes: number;
  /** Slots of the elements that expansions are at; one compiled expression never runs inside itself. */
  readonly scratch: JsonValue[];
}
