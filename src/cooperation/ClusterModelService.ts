import { type JsonValue, type OstrakaError, type ShardId, toOstrakaError } from '../base/index.js';
import type {
  Clock,
  EmbedRequest,
  EmbedResult,
  GenerateEvent,
  Logger,
  ModelService,
  RerankRequest,
  RerankResult,
} from '../platform/index.js';
import { deadlineSignal, type RemoteExecutor } from '../rpc/index.js';
import { BatchScatter } from './BatchScatter.js';
import type { BatchResult, ClusterAnswer, ClusterEvent, ClusterRequest, RoutingReport, ScatterReport } from './ClusterRequest.js';
import { collectAnswer } from './collectAnswer.js';
import { cooperationError } from './errors.js';
import type { CooperationMetrics } from './metrics.js';
import type { CooperationOptions } from './options.js';
import type { PrefixFetcher } from './prefix/PrefixFetcher.js';
import type { RequestRouter } from './RequestRouter.js';
import { retryableElsewhere } from './retryableElsewhere.js';
import { toGenerateRequest } from './toGenerateRequest.js';
import { withProgressTimeout } from './withProgressTimeout.js';

/**
 * Inference as AQL and the OpenAI API call it: routes, reserves, streams, retries (R24, R25, R30). A request that fails before its first
 * text is tried on the next-best shard; one that has sent text ends with STREAM_INTERRUPTED and is never restarted silently.
 * Errors besides the model's own: NO_SHARD_AVAILABLE, DOMAIN_UNAVAILABLE, STREAM_INTERRUPTED, DEADLINE_EXCEEDED.
 */
export class ClusterModelService {
  readonly #router: RequestRouter;
  readonly #executor: RemoteExecutor;
  readonly #local: ModelService;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: CooperationMetrics;
  readonly #options: CooperationOptions;
  readonly #scatter: BatchScatter;
  readonly #prefixes: Pick<PrefixFetcher, 'tokensOf'>;
  readonly #onUnreachable: (shardId: ShardId, refused: boolean) => void;

  constructor(parts: {
    readonly router: RequestRouter;
    readonly executor: RemoteExecutor;
    readonly local: ModelService;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: CooperationMetrics;
    readonly options: CooperationOptions;
    readonly prefixes: Pick<PrefixFetcher, 'tokensOf'>;
    readonly onUnreachable: (shardId: ShardId, refused: boolean) => void;
  }) {
    this.#router = parts.router;
    this.#executor = parts.executor;
    this.#local = parts.local;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#metrics = parts.metrics;
    this.#options = parts.options;
    this.#prefixes = parts.prefixes;
    this.#onUnreachable = parts.onUnreachable;
    this.#scatter = new BatchScatter(parts);
  }

  /** Starts with `routed`, again after a retry; then the events of GenerateEvent. */
  async *generate(asked: ClusterRequest, signal: AbortSignal): AsyncGenerator<ClusterEvent, void, void> {
    const request = await this.#withPrefixes(this.#router.resolve(asked), signal);
    const deadline = deadlineSignal({ clock: this.#clock, deadlineMs: request.timeoutMs + this.#options.admissionTimeoutMs, signal });
    const endsMs = this.#clock.monotonicMs() + request.timeoutMs;
    const excluded = new Set<ShardId>();
    let hasText = false;
    let refused: OstrakaError | undefined;
    try {
      for (let attempt = 1; ; attempt++) {
        const route = this.#router.reserve(request, excluded, refused);
        try {
          yield { kind: 'routed', routing: route.report };
          for await (const event of this.#attempt(request, route.report, { signal: deadline.signal, endsMs })) {
            if (event.kind === 'admitted') route.release();
            hasText ||= event.kind === 'text';
            yield event;
          }
          return;
        } catch (thrown) {
          const error = toOstrakaError(thrown);
          refused = error;
          this.#judge(error, route.report.shardId, { requestId: request.requestId, hasText, attempt, gaveUp: deadline.signal.aborted });
          if (!this.#hasUnloaded(error, route.report)) excluded.add(route.report.shardId);
        } finally {
          route.release();
        }
      }
    } finally {
      deadline.cancel();
    }
  }

  /** A request read to its end. */
  async answer(request: ClusterRequest, signal: AbortSignal): Promise<ClusterAnswer> {
    let routing: RoutingReport | undefined;
    const events = async function* (source: AsyncIterable<ClusterEvent>): AsyncGenerator<GenerateEvent> {
      for await (const event of source) {
        if (event.kind === 'routed') routing = event.routing;
        else yield event;
      }
    };
    const answer = await collectAnswer(events(this.generate(request, signal)));
    return { ...answer, routing: routing as RoutingReport };
  }

  /** One scatter: entries grouped by target, one request a target, all in parallel; every entry answered exactly once, as they finish. */
  generateBatch(
    entries: readonly ClusterRequest[],
    signal: AbortSignal,
  ): { readonly results: AsyncIterable<BatchResult>; readonly report: ScatterReport } {
    return this.#scatter.run(
      entries.map((entry) => this.#router.resolve(entry)),
      signal,
    );
  }

  /** Embeds on this shard: texts do not leave it (R28). */
  embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult> {
    return this.#local.embed(request, signal);
  }

  /** Scores documents by the model of this shard. */
  rerank(request: RerankRequest, signal: AbortSignal): Promise<RerankResult> {
    return this.#local.rerank(request, signal);
  }

  /** Token ids, by the model of this shard. */
  tokenize(model: string, text: string, signal: AbortSignal): Promise<readonly number[]> {
    return this.#local.tokenize(model, text, signal);
  }

  detokenize(model: string, tokens: readonly number[], signal: AbortSignal): Promise<string> {
    return this.#local.detokenize(model, tokens, signal);
  }

  /** The route a request would take, for EXPLAIN. */
  plan(request: Pick<ClusterRequest, 'domain' | 'adapter' | 'model' | 'messages' | 'route'>) {
    return this.#router.plan(this.#router.resolve(request), new Set());
  }

  /** Who has rows of the prompt; of a request for the base model alone, since who asks for a domain gets its best shard. */
  async #withPrefixes(request: ClusterRequest, signal: AbortSignal): Promise<ClusterRequest> {
    if (request.domain !== undefined) return request;
    const prefixTokens = await this.#prefixes.tokensOf(toGenerateRequest(request, undefined), signal);
    return prefixTokens.size === 0 ? request : { ...request, prefixTokens };
  }

  /** The adapter went between the decision and the arrival, and is known to be gone: the shard itself is as good as before. */
  #hasUnloaded({ code }: OstrakaError, { shardId, adapter }: RoutingReport): boolean {
    return code === 'ADAPTER_UNKNOWN' && adapter !== undefined && !this.#router.announces(shardId, adapter);
  }

  async *#attempt(
    request: ClusterRequest,
    routing: RoutingReport,
    { signal, endsMs }: { readonly signal: AbortSignal; readonly endsMs: number },
  ): AsyncGenerator<GenerateEvent, void, void> {
    const deadlineMs = Math.max(0, endsMs - this.#clock.monotonicMs());
    const silence = new AbortController();
    const events = this.#executor.stream({
      shardId: routing.shardId,
      method: 'model.generate',
      body: { ...toGenerateRequest(request, routing.adapter), deadlineMs } as unknown as JsonValue,
      signal: AbortSignal.any([signal, silence.signal]),
      deadlineMs: request.timeoutMs + this.#options.admissionTimeoutMs,
      idempotent: false,
    });
    const timed = withProgressTimeout(events, {
      clock: this.#clock,
      firstMs: this.#options.admissionTimeoutMs,
      nextMs: this.#options.noProgressTimeoutMs,
      giveUp: (error) => silence.abort(error),
      error: (silentMs) => cooperationError('NO_PROGRESS', `shard ${routing.shardId} gave no sign of work for ${silentMs} ms`),
    });
    for await (const event of timed) yield event as unknown as GenerateEvent;
  }

  /** Returns when the next shard should be tried, else throws. */
  #judge(
    error: OstrakaError,
    shardId: ShardId,
    state: { readonly requestId: string; readonly hasText: boolean; readonly attempt: number; readonly gaveUp: boolean },
  ): void {
    if (error.code === 'SHARD_UNAVAILABLE') this.#onUnreachable(shardId, error.data['mayHaveRun'] === false);
    if (state.gaveUp || !retryableElsewhere(error)) throw error;
    this.#logger.info('inference.retry', { request: state.requestId, shard: shardId, code: error.code });
    if (state.hasText) {
      throw cooperationError('STREAM_INTERRUPTED', `shard ${shardId} was lost in the middle of its answer (${error.code})`, {
        cause: error,
      });
    }
    if (state.attempt >= this.#options.attemptsMax) throw error;
    this.#metrics.retries.add(1, { reason: error.code });
  }
}
