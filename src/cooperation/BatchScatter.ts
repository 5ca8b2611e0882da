import { AsyncQueue, baseError, type JsonValue, OstrakaError, type OstrakaErrorJson, type ShardId, toOstrakaError } from '../base/index.js';
import type { Clock, Logger } from '../platform/index.js';
import { deadlineSignal, type RemoteExecutor } from '../rpc/index.js';
import type { BatchOutcome, BatchResult, ClusterAnswer, ClusterRequest, RoutingReport, ScatterReport } from './ClusterRequest.js';
import { cooperationError } from './errors.js';
import type { CooperationMetrics } from './metrics.js';
import type { CooperationOptions } from './options.js';
import type { RequestRouter, ReservedRoute } from './RequestRouter.js';
import { retryableElsewhere } from './retryableElsewhere.js';
import { toGenerateRequest } from './toGenerateRequest.js';
import { withProgressTimeout } from './withProgressTimeout.js';

interface Attempt {
  readonly excluded: ReadonlySet<ShardId>;
  /** From 1 on. */
  readonly attempt: number;
  readonly refused: ReadonlyMap<number, OstrakaErrorJson>;
}

interface Part {
  readonly shardId: ShardId;
  readonly entries: { readonly index: number; readonly route: ReservedRoute }[];
}

interface Run {
  readonly entries: readonly ClusterRequest[];
  readonly results: AsyncQueue<BatchResult>;
  readonly answered: Set<number>;
  readonly report: ScatterReport;
  readonly signal: AbortSignal;
  readonly startedMs: number;
  readonly deadlineMs: number;
}

type BatchFrame =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'progress' }
  | { readonly kind: 'answer'; readonly index: number; readonly answer: Omit<ClusterAnswer, 'routing'> }
  | { readonly kind: 'error'; readonly index: number; readonly error: OstrakaErrorJson };

/**
 * Scatter-gather of a batch (paper §IV-B, R25): every entry is routed with a reservation, so that a group larger than its share spills;
 * entries of one target travel in one request; what a target fails to answer is sent once more to the next-best, then becomes an error
 * entry. Results come as they finish, each index exactly once.
 */
export class BatchScatter {
  readonly #router: RequestRouter;
  readonly #executor: RemoteExecutor;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: CooperationMetrics;
  readonly #options: CooperationOptions;
  readonly #onUnreachable: (shardId: ShardId, refused: boolean) => void;

  constructor(parts: {
    readonly router: RequestRouter;
    readonly executor: RemoteExecutor;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: CooperationMetrics;
    readonly options: CooperationOptions;
    readonly onUnreachable: (shardId: ShardId, refused: boolean) => void;
  }) {
    this.#router = parts.router;
    this.#executor = parts.executor;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#metrics = parts.metrics;
    this.#options = parts.options;
    this.#onUnreachable = parts.onUnreachable;
  }

  run(
    entries: readonly ClusterRequest[],
    signal: AbortSignal,
  ): { readonly results: AsyncIterable<BatchResult>; readonly report: ScatterReport } {
    const report: ScatterReport = { requests: 0, retries: 0, fallbacks: 0, duplicates: 0, perShard: new Map() };
    return { results: this.#results(entries, signal, report), report };
  }

  async *#results(entries: readonly ClusterRequest[], signal: AbortSignal, report: ScatterReport): AsyncGenerator<BatchResult, void, void> {
    const deadlineMs = this.#deadlineMs(entries);
    const deadline = deadlineSignal({ clock: this.#clock, deadlineMs, signal });
    const stopped = new AbortController();
    const results = new AsyncQueue<BatchResult>({ itemsMax: entries.length + 1 });
    const run: Run = {
      entries,
      results,
      answered: new Set(),
      report,
      signal: AbortSignal.any([deadline.signal, stopped.signal]),
      startedMs: this.#clock.monotonicMs(),
      deadlineMs,
    };
    const indexes = entries.map((_, index) => index);
    this.#scatter(run, indexes, { excluded: new Set(), attempt: 1, refused: new Map() }).then(
      () => results.close(),
      (error: unknown) => results.fail(error),
    );
    try {
      yield* results;
    } finally {
      deadline.cancel();
      stopped.abort(baseError('CANCELLED', 'the batch is not wanted any more'));
    }
  }

  /** Twice the estimate when that is longer than the paper's 30 s: an honest batch on slow shards is not cut off. */
  #deadlineMs(entries: readonly ClusterRequest[]): number {
    const tokens = entries.reduce((total, { sampling }) => total + sampling.tokensMax, 0);
    const longest = Math.max(0, ...entries.map(({ timeoutMs }) => timeoutMs));
    return Math.max(this.#options.collectiveTimeoutMs, longest, 2 * tokens * this.#options.millisecondsPerToken);
  }

  /** `refused`: of entries that a shard did not take, why. */
  async #scatter(run: Run, indexes: readonly number[], state: Attempt): Promise<void> {
    const parts = this.#assign(run, indexes, state);
    await Promise.all(parts.map((part) => this.#runPart(run, part, state)));
  }

  /** Routes every entry; those that no shard takes get their error at once. */
  #assign(run: Run, indexes: readonly number[], { excluded, refused }: Attempt): Part[] {
    const parts = new Map<ShardId, Part>();
    for (const index of indexes) {
      const entry = run.entries[index] as ClusterRequest;
      try {
        const reason = refused.get(index);
        const route = this.#router.reserve(entry, excluded, reason && new OstrakaError(reason));
        const { shardId } = route.report;
        if (entry.domain !== undefined && route.report.decision !== 'domain') run.report.fallbacks++;
        const part = parts.get(shardId) ?? { shardId, entries: [] };
        part.entries.push({ index, route });
        parts.set(shardId, part);
      } catch (error) {
        this.#settle(run, index, { kind: 'error', error: toOstrakaError(error).toJson() });
      }
    }
    return [...parts.values()];
  }

  async #runPart(run: Run, part: Part, { excluded, attempt }: Attempt): Promise<void> {
    const failed = new Map<number, OstrakaErrorJson>();
    run.report.requests++;
    run.report.perShard.set(part.shardId, (run.report.perShard.get(part.shardId) ?? 0) + 1);
    this.#metrics.scatterRequests.add();
    try {
      for await (const frame of this.#frames(run, part)) this.#take(run, part, frame, failed);
      const leftOut = cooperationError('NO_PROGRESS', `shard ${part.shardId} ended its part without an answer to every entry`).toJson();
      for (const { index } of part.entries) if (!run.answered.has(index) && !failed.has(index)) failed.set(index, leftOut);
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      if (error.code === 'SHARD_UNAVAILABLE') this.#onUnreachable(part.shardId, error.data['mayHaveRun'] === false);
      for (const { index } of part.entries) if (!run.answered.has(index)) failed.set(index, failed.get(index) ?? error.toJson());
    } finally {
      for (const { route } of part.entries) route.release();
    }
    await this.#retry(run, part, { failed, excluded, attempt });
  }

  async #retry(
    run: Run,
    part: Part,
    state: { readonly failed: ReadonlyMap<number, OstrakaErrorJson>; readonly excluded: ReadonlySet<ShardId>; readonly attempt: number },
  ): Promise<void> {
    const mayRetry = state.attempt < this.#options.attemptsMax && !run.signal.aborted;
    const again: number[] = [];
    for (const [index, error] of state.failed) {
      if (mayRetry && retryableElsewhere(error)) again.push(index);
      else this.#settle(run, index, { kind: 'error', error });
    }
    if (again.length === 0) return;
    run.report.retries++;
    this.#metrics.retries.add(1, { reason: state.failed.get(again[0] as number)?.code ?? 'unknown' });
    this.#logger.info('scatter.retry', { shard: part.shardId, entries: again.length });
    await this.#scatter(run, again, {
      excluded: new Set([...state.excluded, part.shardId]),
      attempt: state.attempt + 1,
      refused: state.failed,
    });
  }

  #frames(run: Run, part: Part): AsyncIterable<BatchFrame> {
    const silence = new AbortController();
    const passedMs = this.#clock.monotonicMs() - run.startedMs;
    const body = {
      entries: part.entries.map(({ index, route }) => {
        const entry = run.entries[index] as ClusterRequest;
        const { entryTimeoutMs } = entry;
        return {
          index,
          request: toGenerateRequest(entry, route.report.adapter),
          ...(entryTimeoutMs !== undefined && { timeoutMs: Math.max(0, entryTimeoutMs - passedMs) }),
        };
      }),
    };
    const frames = this.#executor.stream({
      shardId: part.shardId,
      method: 'model.generateBatch',
      body: body as unknown as JsonValue,
      signal: AbortSignal.any([run.signal, silence.signal]),
      deadlineMs: run.deadlineMs,
      idempotent: false,
    });
    return withProgressTimeout(frames as unknown as AsyncIterable<BatchFrame>, {
      clock: this.#clock,
      firstMs: this.#options.admissionTimeoutMs,
      nextMs: this.#options.noProgressTimeoutMs,
      giveUp: (error) => silence.abort(error),
      error: (silentMs) => cooperationError('NO_PROGRESS', `shard ${part.shardId} gave no sign of work for ${silentMs} ms`),
    });
  }

  #take(run: Run, part: Part, frame: BatchFrame, failed: Map<number, OstrakaErrorJson>): void {
    if (frame.kind === 'progress') return;
    if (frame.kind === 'admitted') {
      for (const { route } of part.entries) route.release();
      return;
    }
    const own = part.entries.find(({ index }) => index === frame.index);
    if (!own) return;
    if (frame.kind === 'error' && retryableElsewhere(frame.error)) failed.set(frame.index, frame.error);
    else if (frame.kind === 'error') this.#settle(run, frame.index, { kind: 'error', error: frame.error });
    else this.#settle(run, frame.index, { kind: 'answer', answer: { ...frame.answer, routing: own.route.report as RoutingReport } });
  }

  /** The first outcome of an entry is its outcome. */
  #settle(run: Run, index: number, outcome: BatchOutcome): void {
    if (run.answered.has(index)) {
      run.report.duplicates++;
      return;
    }
    run.answered.add(index);
    run.results.push({ index, outcome });
  }
}
