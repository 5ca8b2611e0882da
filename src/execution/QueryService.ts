import { type AstDescription, describeAst, type ExplainedPlan, explainPlan, parseAql, planQuery, type QueryPlan } from '../aql/index.js';
import { type JsonValue, onAbort, type ShardId, toOstrakaError } from '../base/index.js';
import type { Clock, Logger, Metrics, Random } from '../platform/index.js';
import type { RemoteExecutor } from '../rpc/index.js';
import type { Catalog, ShardingManager } from '../sharding/index.js';
import type { CollectionRef } from '../storage/index.js';
import type { DistributedTransaction, TransactionCoordinator } from '../transactions/index.js';
import { declareExecutionMetrics, type ExecutionMetrics } from './metrics.js';
import type { ExecutionOptions } from './options.js';
import type { QueryMemory } from './QueryMemory.js';
import type { QueryCursor, QueryExtra, QueryRequest } from './QueryRequest.js';
import { QueryRun } from './QueryRun.js';
import { RunningQueries, type RunningQuery } from './RunningQueries.js';
import type { AdapterAccess, ModelAccess } from './SequenceContext.js';
import type { TurnPart, Turns } from './Turns.js';
import type { QueryWarning } from './WarningList.js';

export interface Explanation {
  readonly plan: ExplainedPlan;
  readonly warnings: readonly QueryWarning[];
  readonly rulesSkipped: readonly string[];
}

/**
 * AQL on this shard as coordinator (R13–R15, R17): plans, resolves collections, runs the plan over the cluster, commits. A query sees one
 * snapshot. Errors: the language's (`aql`), COLLECTION_NOT_FOUND, those of operators, WRITE_CONFLICT and TRANSACTION_… at the commit.
 */
export class QueryService {
  readonly #catalog: Catalog;
  readonly #sharding: ShardingManager;
  readonly #executor: RemoteExecutor;
  readonly #transactions: TransactionCoordinator;
  readonly #models: ModelAccess;
  readonly #adapters: AdapterAccess;
  readonly #clock: Clock;
  readonly #turns: Turns;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #metrics: ExecutionMetrics;
  readonly #options: ExecutionOptions;
  readonly #queryMemory: QueryMemory;
  readonly #running: RunningQueries;
  /** For transactions of several queries; forgotten with them. */
  readonly #knownShards = new WeakMap<DistributedTransaction, Set<ShardId>>();
  #nextId = 1;

  constructor(parts: {
    readonly catalog: Catalog;
    readonly sharding: ShardingManager;
    readonly executor: RemoteExecutor;
    readonly transactions: TransactionCoordinator;
    readonly models: ModelAccess;
    readonly adapters: AdapterAccess;
    readonly clock: Clock;
    readonly turns: Turns;
    readonly random: Random;
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly options: ExecutionOptions;
    readonly queryMemory: QueryMemory;
  }) {
    this.#catalog = parts.catalog;
    this.#sharding = parts.sharding;
    this.#executor = parts.executor;
    this.#transactions = parts.transactions;
    this.#models = parts.models;
    this.#adapters = parts.adapters;
    this.#clock = parts.clock;
    this.#turns = parts.turns;
    this.#random = parts.random;
    this.#logger = parts.logger;
    this.#metrics = declareExecutionMetrics(parts.metrics);
    this.#options = parts.options;
    this.#queryMemory = parts.queryMemory;
    this.#running = new RunningQueries(parts.options);
  }

  /** Reads stream as they are found. A query that writes has run and committed before this resolves, and its results are buffered. */
  async execute(request: QueryRequest): Promise<QueryCursor> {
    const part: TurnPart = { owner: request };
    await this.#enter(part, request.signal);
    const plan = planOf(request);
    const collections = await this.#resolve(request.database, plan);
    const transaction = request.transaction ?? this.#transactions.begin();
    const id = String(this.#nextId++);
    const run = this.#start(id, { request, part, plan, collections, transaction });
    if (!run.writes) {
      return {
        id,
        blocks: this.#observed(id, run, run.values()),
        bufferedBytes: 0,
        held: run.memory,
        place: this.#running.placeOf(id),
        extra: () => run.extra(),
      };
    }
    const { blocks, bufferedBytes } = await this.#runWriting(id, run, request.transaction ? undefined : transaction);
    return { id, blocks: listed(blocks), bufferedBytes, held: buffered, place: ended, extra: () => run.extra() };
  }

  /** A query read to its end. */
  async run(request: QueryRequest): Promise<{ readonly rows: readonly JsonValue[]; readonly extra: QueryExtra }> {
    const cursor = await this.execute(request);
    const rows: JsonValue[] = [];
    for await (const block of cursor.blocks) rows.push(...block);
    return { rows, extra: cursor.extra() };
  }

  /** The plan as EXPLAIN shows it; nothing runs. Errors: the language's, COLLECTION_NOT_FOUND. */
  async explain(request: Omit<QueryRequest, 'signal' | 'transaction'>): Promise<Explanation> {
    const plan = planOf(request);
    await this.#resolve(request.database, plan);
    return { plan: explainPlan(plan), warnings: plan.warnings, rulesSkipped: plan.rulesSkipped };
  }

  /** Errors: AQL_PARSE and the parser's others. */
  parse(query: string): AstDescription {
    return describeAst(parseAql(query));
  }

  running(): readonly RunningQuery[] {
    return this.#running.list();
  }

  /** Error QUERY_UNKNOWN. */
  kill(id: string): void {
    this.#running.kill(id);
  }

  /** Planning is work too, and many queries may come at once. */
  async #enter(part: TurnPart, signal: AbortSignal): Promise<void> {
    const entered = this.#running.enter();
    try {
      await this.#turns.rest(part, signal);
    } finally {
      entered();
    }
  }

  async #resolve(database: string, plan: QueryPlan): Promise<ReadonlyMap<string, CollectionRef>> {
    await this.#catalog.database(database);
    const found = await Promise.all(plan.collections.map(({ name }) => this.#catalog.collection(database, name)));
    return new Map(found.map(({ name, id, kind }) => [name, { database, name, id, kind }]));
  }

  #start(
    id: string,
    query: {
      readonly request: QueryRequest;
      readonly part: TurnPart;
      readonly plan: QueryPlan;
      readonly collections: ReadonlyMap<string, CollectionRef>;
      readonly transaction: DistributedTransaction;
    },
  ): QueryRun {
    const knownShards = this.#knownShards.get(query.transaction) ?? new Set();
    this.#knownShards.set(query.transaction, knownShards);
    const run = new QueryRun({
      id,
      ...query,
      knownShards,
      ring: this.#sharding.ring,
      executor: this.#executor,
      models: this.#models,
      adapters: this.#adapters,
      clock: this.#clock,
      turns: this.#turns,
      random: this.#random,
      logger: this.#logger,
      options: this.#options,
      queryMemory: this.#queryMemory,
    });
    const { database, query: text } = query.request;
    // A cursor that nobody reads ends with its runtime, and must not stay listed.
    onAbort(run.signal, () => this.#running.delete(id));
    try {
      this.#running.add({ id, database, query: text, startedAtMs: this.#clock.nowMs(), kill: () => run.kill() });
    } catch (error) {
      run.close();
      throw error;
    }
    return run;
  }

  async *#observed(
    id: string,
    run: QueryRun,
    values: AsyncIterable<readonly JsonValue[]>,
  ): AsyncGenerator<readonly JsonValue[], void, void> {
    let outcome = 'abandoned';
    try {
      yield* values;
      outcome = 'finished';
    } catch (error) {
      outcome = toOstrakaError(error).code;
      throw error;
    } finally {
      this.#end(id, run, outcome);
    }
  }

  /** `own`: the transaction to commit or abort; undefined where the caller's transaction goes on. */
  async #runWriting(id: string, run: QueryRun, own: DistributedTransaction | undefined): Promise<Results> {
    let outcome = 'finished';
    try {
      const blocks: (readonly JsonValue[])[] = [];
      let bufferedBytes = 0;
      for await (const block of run.values()) {
        bufferedBytes += run.memory.hold(block);
        blocks.push(block);
      }
      await own?.commit(run.signal);
      return { blocks, bufferedBytes };
    } catch (error) {
      outcome = toOstrakaError(error).code;
      await own?.abort();
      throw error;
    } finally {
      this.#end(id, run, outcome);
    }
  }

  #end(id: string, run: QueryRun, outcome: string): void {
    run.close();
    this.#running.delete(id);
    this.#metrics.queries.add(1, { outcome });
    this.#metrics.duration.observe(run.extra().stats.executionTime);
  }
}

const planOf = (request: Omit<QueryRequest, 'signal' | 'transaction'>): QueryPlan =>
  planQuery({
    text: request.query,
    ...(request.bindVars && { bindVars: request.bindVars }),
    ...(request.options?.optimizerRules && { optimizerRules: request.options.optimizerRules }),
  });

/** Of a query that has ended and holds none. */
const ended = { leave: () => undefined, take: () => undefined };

const buffered = { hold: () => 0, release: () => undefined };

interface Results {
  readonly blocks: readonly (readonly JsonValue[])[];
  readonly bufferedBytes: number;
}

async function* listed(blocks: readonly (readonly JsonValue[])[]): AsyncGenerator<readonly JsonValue[], void, void> {
  yield* blocks;
}
