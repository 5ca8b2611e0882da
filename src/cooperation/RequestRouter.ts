import { type OstrakaError, type ShardId, xxh64 } from '../base/index.js';
import type { AdapterCapabilityAnnouncement, TopologyView } from '../membership/index.js';
import { describeProgress } from '../models/index.js';
import { type AdapterIdentity, type Clock, type EngineProgress, platformError } from '../platform/index.js';
import {
  type AdaptiveShardRouter,
  fitsAdapter,
  type Reservations,
  type RouteCandidate,
  type RoutePlan,
  type WantedAdapter,
} from '../routing/index.js';
import type { RemoteExecutor } from '../rpc/index.js';
import type { ConsistentHashRing } from '../sharding/index.js';
import { adapterAsModel } from './adapterAsModel.js';
import { adapterNamed } from './adapterNamed.js';
import { ambiguousAdapter } from './ambiguousAdapter.js';
import type { ClusterRequest, RoutingReport } from './ClusterRequest.js';
import { cooperationError } from './errors.js';
import type { CooperationMetrics } from './metrics.js';

/** A decided route whose target holds a reservation until released. */
export interface ReservedRoute {
  readonly plan: RoutePlan;
  readonly report: RoutingReport;
  release(): void;
}

// The ring needs only equal prompts to agree: their first characters do, and cost no tokenizer here.
const prefixCharacters = 1024;

/** Gives the pure router its state, and takes the reservation in the same turn. */
export class RequestRouter {
  readonly #router: AdaptiveShardRouter;
  readonly #reservations: Reservations;
  readonly #topology: () => TopologyView;
  readonly #ring: () => ConsistentHashRing;
  readonly #executor: RemoteExecutor;
  readonly #progress: () => EngineProgress | undefined;
  readonly #retryAfterSeconds: number;
  readonly #clock: Clock;
  readonly #metrics: CooperationMetrics;

  constructor(parts: {
    readonly router: AdaptiveShardRouter;
    readonly reservations: Reservations;
    readonly topology: () => TopologyView;
    readonly ring: () => ConsistentHashRing;
    readonly executor: RemoteExecutor;
    /** Of this shard's engine while it starts. */
    readonly progress: () => EngineProgress | undefined;
    /** What callers hear who come while all engines start. */
    readonly retryAfterSeconds: number;
    readonly clock: Clock;
    readonly metrics: CooperationMetrics;
  }) {
    this.#router = parts.router;
    this.#reservations = parts.reservations;
    this.#topology = parts.topology;
    this.#ring = parts.ring;
    this.#executor = parts.executor;
    this.#progress = parts.progress;
    this.#retryAfterSeconds = parts.retryAfterSeconds;
    this.#clock = parts.clock;
    this.#metrics = parts.metrics;
  }

  /** The request with the name of an adapter resolved; one that stands for none or for several stays as it is, and is refused by `reserve`. */
  resolve<Request extends Pick<ClusterRequest, 'model' | 'domain' | 'adapter' | 'route'>>(asked: Request): Request {
    const request = adapterAsModel(asked, this.#topology());
    if (request.domain === undefined || !request.route?.isNamed) return request;
    const named = adapterNamed(request.domain, this.#announcements());
    return named.kind === 'found' ? { ...request, adapter: named.adapter } : request;
  }

  /** Whether a shard still says that it has an adapter. */
  announces(shardId: ShardId, adapter: AdapterIdentity): boolean {
    const member = this.#topology().members.find((one) => one.shardId === shardId);
    return member?.announcements.some((one) => fitsAdapter(one, adapter)) ?? false;
  }

  /**
   * `refused`: why the shard that was asked before did not take the request; where no other is left, that is the answer.
   * Errors: NO_SHARD_AVAILABLE, MODEL_UNKNOWN, DOMAIN_UNAVAILABLE, ADAPTER_UNKNOWN, ADAPTER_AMBIGUOUS.
   */
  reserve(request: ClusterRequest, excluded: ReadonlySet<ShardId>, refused?: OstrakaError): ReservedRoute {
    const plan = this.plan(request, excluded);
    const [target] = plan.candidates;
    if (!target) throw refused ?? this.#nobody(request.model);
    if (request.domain !== undefined && plan.decision !== 'domain') this.#fellThrough(request, plan);
    this.#metrics.routed.add(1, { decision: plan.decision });
    const reservation = this.#reservations.take(target.shardId);
    return { plan, report: reportOf(request, plan, target), release: () => reservation.release() };
  }

  /** The route without taking it, for EXPLAIN. */
  plan(
    request: Pick<ClusterRequest, 'domain' | 'adapter' | 'model' | 'messages' | 'route' | 'prefixTokens'>,
    excluded: ReadonlySet<ShardId>,
  ): RoutePlan {
    const startedMs = this.#clock.monotonicMs();
    const prefix = request.messages
      .map(({ content }) => content)
      .join('\n')
      .slice(0, prefixCharacters);
    const plan = this.#router.route(
      {
        adapter: wantedBy(request),
        model: request.model,
        promptHash: xxh64(`${request.model}\n${prefix}`),
        excluded,
        scoreMin: request.route?.scoreMin,
        isNamed: request.route?.isNamed ?? false,
        ...(request.prefixTokens !== undefined && { prefixTokens: request.prefixTokens }),
      },
      {
        view: this.#topology(),
        ring: this.#ring(),
        admits: (shardId) => this.#executor.breakerOf(shardId).admits,
        reserved: (shardId) => this.#reservations.of(shardId),
      },
    );
    this.#metrics.routingSeconds.observe((this.#clock.monotonicMs() - startedMs) / 1000);
    return plan;
  }

  /** A model that no shard names is the caller's mistake; one whose shards are all away is ours, and so is one that a shard may name once it has started. */
  #nobody(model: string): OstrakaError {
    const alive = this.#topology().members.filter(({ health }) => health === 'alive');
    const starting = alive.filter(({ ready }) => !ready).length;
    if (starting > 0 && starting === alive.length) return this.#starting(starting);
    const chats = this.#topology().members.flatMap(({ models }) => models.flatMap(({ kind, name }) => (kind === 'chat' ? [name] : [])));
    const names = ['default', ...new Set(chats)];
    if (!names.includes(model))
      return platformError('MODEL_UNKNOWN', `no shard serves a chat model ${model}; served are ${names.join(', ')}`);
    return cooperationError('NO_SHARD_AVAILABLE', `no living shard serves model ${model}`);
  }

  #starting(shards: number): OstrakaError {
    const progress = this.#progress();
    const own = progress === undefined ? '' : `; this one is at${describeProgress(progress).slice(1)}`;
    const message = `${shards === 1 ? 'the engine of the one living shard is' : `the engines of all ${shards} living shards are`} starting${own}`;
    return cooperationError('NO_SHARD_AVAILABLE', message, { data: { retryAfterSeconds: this.#retryAfterSeconds, ...progress } });
  }

  #fellThrough(request: ClusterRequest, plan: RoutePlan): void {
    this.#metrics.fallbacks.add(1, { reason: plan.fallbackReason ?? 'no_capable_shard' });
    if (request.route?.fallback !== 'fail') return;
    if (request.route.isNamed) this.#checkNamed(request.domain as string);
    throw cooperationError('DOMAIN_UNAVAILABLE', `no shard qualifies for domain ${request.domain} (${plan.fallbackReason})`);
  }

  #checkNamed(name: string): void {
    const named = adapterNamed(name, this.#announcements());
    if (named.kind === 'ambiguous') throw ambiguousAdapter(name, named.choices);
    if (named.kind === 'unknown') throw platformError('ADAPTER_UNKNOWN', `no shard announces an adapter ${JSON.stringify(name)}`);
  }

  #announcements(): readonly AdapterCapabilityAnnouncement[] {
    return this.#topology().members.flatMap(({ announcements }) => announcements);
  }
}

const wantedBy = ({ domain, adapter }: Pick<ClusterRequest, 'domain' | 'adapter'>): WantedAdapter | undefined =>
  adapter ?? (domain === undefined ? undefined : { domain });

const reportOf = ({ domain }: ClusterRequest, plan: RoutePlan, target: RouteCandidate): RoutingReport => ({
  shardId: target.shardId,
  decision: plan.decision,
  score: target.score,
  tier: plan.tier,
  ...(domain !== undefined && plan.fallbackReason !== undefined && { fallback: plan.fallbackReason }),
  ...(target.announcement && { adapter: { digest: target.announcement.adapterDigest, scale: target.announcement.scale } }),
});
