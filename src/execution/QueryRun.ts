import type { QueryPlan } from '../aql/index.js';
import { baseError, type JsonValue, OstrakaError, onAbort, type ShardId } from '../base/index.js';
import type { Clock, Logger, Random, Timer } from '../platform/index.js';
import type { RemoteExecutor } from '../rpc/index.js';
import type { ConsistentHashRing } from '../sharding/index.js';
import type { CollectionRef } from '../storage/index.js';
import type { DistributedTransaction } from '../transactions/index.js';
import { DistributedExecutor, type FragmentLimits } from './DistributedExecutor.js';
import { EmbedScatter } from './embedding/EmbedScatter.js';
import { executionError } from './errors.js';
import { KeyGenerator } from './KeyGenerator.js';
import type { MemoryAccount } from './MemoryAccount.js';
import { openContext } from './openContext.js';
import type { ExecutionOptions } from './options.js';
import type { QueryMemory } from './QueryMemory.js';
import type { QueryExtra, QueryRequest } from './QueryRequest.js';
import { QueryTransaction } from './QueryTransaction.js';
import type { AdapterAccess, ModelAccess, SequenceContext } from './SequenceContext.js';
import { SequenceRunner } from './SequenceRunner.js';
import { sequenceFacts } from './sequenceFacts.js';
import type { TurnPart, Turns } from './Turns.js';

export interface QueryRunParts {
  readonly id: string;
  readonly request: QueryRequest;
  readonly plan: QueryPlan;
  readonly collections: ReadonlyMap<string, CollectionRef>;
  readonly transaction: DistributedTransaction;
  /** Shards that hold a part of the transaction; the run adds to them. */
  readonly knownShards: Set<ShardId>;
  readonly ring: ConsistentHashRing;
  readonly executor: RemoteExecutor;
  readonly models: ModelAccess;
  readonly adapters: AdapterAccess;
  readonly clock: Clock;
  readonly turns: Turns;
  /** Which has waited for the turn in which the query starts. */
  readonly part: TurnPart;
  readonly random: Random;
  readonly logger: Logger;
  readonly queryMemory: QueryMemory;
  readonly options: ExecutionOptions;
}

/**
 * One run of one plan on its coordinator: the context of its operators, its deadline, and the sign of life it gives to the shards that
 * hold its transaction. `close` must be called.
 */
export class QueryRun {
  readonly #parts: QueryRunParts;
  readonly #context: SequenceContext;
  readonly #transaction: QueryTransaction;
  readonly #stop = new AbortController();
  readonly #startedMs: number;
  readonly #runtimeMs: number;
  readonly #timers: { runtime: Timer; touch: Timer | undefined };
  #endedMs: number | undefined;

  constructor(parts: QueryRunParts) {
    const { clock, options, request, plan } = parts;
    this.#parts = parts;
    this.#startedMs = clock.monotonicMs();
    this.#runtimeMs = request.options?.maxRuntime ? request.options.maxRuntime * 1000 : options.runtimeMsMax;
    const joins = request.transaction !== undefined || sequenceFacts.writes(plan.nodes);
    this.#transaction = new QueryTransaction(parts.transaction, { joins, known: parts.knownShards });
    this.#context = this.#openContext();
    for (const { code, message } of plan.warnings) this.#context.warnings.add(code, message);
    const runtime = clock.setTimer(this.#runtimeMs, () =>
      this.#stop.abort(executionError('QUERY_KILLED', `query killed: it ran longer than ${this.#runtimeMs} ms`)),
    );
    this.#timers = { runtime, touch: undefined };
    if (this.#transaction.joins) this.#scheduleTouch();
  }

  get writes(): boolean {
    return sequenceFacts.writes(this.#parts.plan.nodes);
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  values(): AsyncIterable<readonly JsonValue[]> {
    const keys = new KeyGenerator(this.#parts);
    return new SequenceRunner(this.#context, keys).values(this.#parts.plan.nodes, []);
  }

  /** For results that wait: for the end of the query, or for their reader. */
  get memory(): MemoryAccount {
    return this.#context.memory;
  }

  kill(): void {
    this.#stop.abort(executionError('QUERY_KILLED', 'query killed'));
  }

  close(): void {
    this.#endedMs ??= this.#parts.clock.monotonicMs();
    this.#timers.runtime.cancel();
    this.#timers.touch?.cancel();
    this.#stop.abort(baseError('CANCELLED', 'the query has ended'));
  }

  extra(): QueryExtra {
    const { stats, warnings, memory } = this.#context;
    stats.peakMemoryUsage = Math.max(stats.peakMemoryUsage, memory.limit.peakBytes);
    const endedMs = this.#endedMs ?? this.#parts.clock.monotonicMs();
    return { warnings: warnings.all, stats: { ...stats, executionTime: (endedMs - this.#startedMs) / 1000 } };
  }

  #openContext(): SequenceContext {
    const { id, request, executor, clock } = this.#parts;
    const limits = limitsOf(request, this.#parts.options);
    const signal = AbortSignal.any([request.signal, this.#stop.signal]);
    const context = openContext({
      ...this.#parts,
      queryId: `${executor.selfShardId}:${id}`,
      shardId: executor.selfShardId,
      site: (own) => this.#site(limits, own),
      embedRows: this.#embedRows(),
      limits,
      nowMs: clock.nowMs(),
      signal,
    });
    onAbort(signal, () => context.memory.limit.end()); // every query ends with this
    return context;
  }

  #site(limits: FragmentLimits, context: () => SequenceContext): DistributedExecutor {
    const { executor, ring, collections, plan } = this.#parts;
    return new DistributedExecutor({
      executor,
      ring,
      collections,
      limits,
      transaction: this.#transaction,
      originRegister: plan.variables.length,
      remainingMs: () => this.#remainingMs(),
      context,
    });
  }

  #embedRows(): EmbedScatter {
    const { id, request, collections, ring, executor } = this.#parts;
    const queryId = `${executor.selfShardId}:${id}`;
    return new EmbedScatter({ queryId, request, collections, ring, executor, remainingMs: () => this.#remainingMs() });
  }

  #remainingMs(): number {
    return Math.max(1, this.#startedMs + this.#runtimeMs - this.#parts.clock.monotonicMs());
  }

  /** Shards drop idle transactions; while models think, the query's are not idle. A shard that lost it ends the query at its next call. */
  #scheduleTouch(): void {
    this.#timers.touch = this.#parts.clock.setTimer(this.#parts.options.touchIntervalMs, () => {
      for (const shardId of this.#transaction.knownShards) this.#touch(shardId);
      this.#scheduleTouch();
    });
  }

  #touch(shardId: ShardId): void {
    const body = { transaction: this.#transaction.use(shardId, 'read') } as unknown as JsonValue;
    const call = { shardId, method: 'execution.touch', body, signal: this.#stop.signal, idempotent: true };
    this.#parts.executor.call(call).catch((error: unknown) => {
      if (error instanceof OstrakaError && error.code === 'TRANSACTION_ABORTED') this.#stop.abort(error);
      else this.#parts.logger.debug('query.untouched', { shard: shardId, query: this.#parts.id });
    });
  }
}

const limitsOf = ({ options: given = {} }: QueryRequest, options: ExecutionOptions): FragmentLimits => ({
  memoryLimitBytes: given.memoryLimit && given.memoryLimit > 0 ? given.memoryLimit : options.memoryLimitBytes,
  warningsMax: given.maxWarningCount ?? options.warningsMax,
  failOnWarning: given.failOnWarning ?? false,
});
