import type { ShardId } from '../base/index.js';
import type { AdapterCapabilityAnnouncement, TopologyMember, TopologyView } from '../membership/index.js';
import type { ConsistentHashRing } from '../sharding/index.js';
import { fitsAdapter } from './fitsAdapter.js';
import type { RoutingOptions } from './options.js';
import type { RouteCandidate, RoutePlan } from './RoutePlan.js';
import type { WantedAdapter } from './WantedAdapter.js';

export interface RouteRequest {
  /** The adapter, or the subject, that is asked for; undefined = the base model. */
  readonly adapter: WantedAdapter | undefined;
  /** Name of the model, or `default`. */
  readonly model: string;
  /** 64-bit hash of the model and the first tokens, for the ring. */
  readonly promptHash: bigint;
  /** Shards that failed this request already. */
  readonly excluded: ReadonlySet<ShardId>;
  /** No candidate below this score. */
  readonly scoreMin: number | undefined;
  /** The caller names the adapter itself: it answers however small its gain, after any that reaches a tier. */
  readonly isNamed: boolean;
  /** Tokens of the prompt's beginning whose rows a shard has (R27); absent = not known of any. */
  readonly prefixTokens?: ReadonlyMap<ShardId, number>;
}

/** Everything the router looks at, given as data. */
export interface RouteState {
  readonly view: TopologyView;
  readonly ring: ConsistentHashRing;
  /** False while a shard's breaker is open. */
  readonly admits: (shardId: ShardId) => boolean;
  /** Requests this shard has sent and not yet seen in a load report. */
  readonly reserved: (shardId: ShardId) => number;
}

/**
 * Domain routing (paper §IV-A): filters → scorers → picker, pure. Score = accuracyDelta − γ·λ with λ in seconds (E1), by tiers
 * 0.8, 0.6, 0.4; measured figures before declared ones; among equals the least loaded. Without a domain, or when no shard qualifies:
 * one that has rows of the prompt's beginning and is not much busier, then the least loaded, and the ring when no load is fresh.
 */
export class AdaptiveShardRouter {
  readonly #options: RoutingOptions;

  constructor(options: RoutingOptions) {
    this.#options = options;
  }

  route(request: RouteRequest, state: RouteState): RoutePlan {
    const serving = state.view.members.filter((member) => servesModel(member, request.model));
    const usable = serving.filter((member) => isUsable(member, state) && !request.excluded.has(member.shardId));
    const { adapter } = request;
    if (adapter === undefined) return this.#general(usable, request, state, undefined);
    const plan = this.#byAdapter(usable, request, adapter, state);
    if (plan) return plan;
    const exists = serving.some((member) => announcementFor(member, adapter, request.model));
    return this.#general(usable, request, state, exists ? 'capable_shards_unavailable' : 'no_capable_shard');
  }

  /** accuracyDelta − γ·λ, λ = the adapter's p99 delta in seconds (E1: 100 ms are worth 0.01). */
  score(announcement: AdapterCapabilityAnnouncement): number {
    return announcement.accuracyDelta - this.#options.gammaPerSecond * (announcement.performanceDeltaP99Ms / 1000);
  }

  #byAdapter(usable: readonly TopologyMember[], request: RouteRequest, adapter: WantedAdapter, state: RouteState): RoutePlan | undefined {
    const capable = usable.flatMap((member) => {
      const announcement = announcementFor(member, adapter, request.model);
      return announcement ? [candidateOf(member, state, this.score(announcement), announcement)] : [];
    });
    const { scoreMin } = request;
    const allowed = scoreMin === undefined ? capable : capable.filter(({ score }) => score >= scoreMin);
    const tier = this.#options.tiers.find((threshold) => allowed.some((one) => deltaOf(one) > threshold));
    if (tier === undefined && !(request.isNamed && allowed.length > 0)) return undefined;
    const qualified = tier === undefined ? allowed : allowed.filter((one) => deltaOf(one) > tier);
    return { decision: 'domain', tier, fallbackReason: undefined, candidates: this.#rank(qualified) };
  }

  /** Measured before declared, then by score; within the margin of the best by load; then by id, so that equals are decided alike. */
  #rank(candidates: readonly RouteCandidate[]): RouteCandidate[] {
    const best = Math.max(...candidates.map(({ score }) => score));
    const band = (one: RouteCandidate): number => Math.floor((best - one.score) / Math.max(this.#options.equalScoreMargin, 1e-9));
    return [...candidates].sort(
      (left, right) =>
        this.#overload(left) - this.#overload(right) ||
        declared(left) - declared(right) ||
        band(left) - band(right) ||
        left.pending - right.pending ||
        right.score - left.score ||
        (left.shardId < right.shardId ? -1 : 1),
    );
  }

  #general(
    usable: readonly TopologyMember[],
    request: RouteRequest,
    state: RouteState,
    fallbackReason: RoutePlan['fallbackReason'],
  ): RoutePlan {
    const owner = state.ring.ownerOfHash(request.promptHash);
    const candidates = usable.map((member) => ({
      ...candidateOf(member, state, 0, undefined),
      prefixTokens: request.prefixTokens?.get(member.shardId) ?? 0,
    }));
    const knowsLoads = usable.every((member) => member.load !== undefined);
    const tie = (one: RouteCandidate): number => (one.shardId === owner ? 0 : 1);
    const load = (one: RouteCandidate): number => (knowsLoads ? one.pending - this.#prefixCredit(one) : 0);
    const warmth = this.#warmth(usable, request.model);
    candidates.sort(
      (left, right) =>
        warmth(left) - warmth(right) ||
        load(left) - load(right) ||
        right.prefixTokens - left.prefixTokens ||
        tie(left) - tie(right) ||
        (left.shardId < right.shardId ? -1 : 1),
    );
    return { decision: decisionOf(candidates, knowsLoads), tier: undefined, fallbackReason, candidates };
  }

  /** Rows that are there save as much as a place in the queue, no more: a shard is not overrun for what it holds. */
  #prefixCredit({ prefixTokens }: RouteCandidate): number {
    return prefixTokens > 0 ? this.#options.prefixPendingCredit : 0;
  }

  /**
   * A shard that has the model loaded before one that would load it first, unless it is overloaded: a model spreads over the shards as its
   * load grows, and not with its first requests.
   */
  #warmth(usable: readonly TopologyMember[], model: string): (candidate: RouteCandidate) => number {
    const cold = new Set(usable.flatMap((member) => (isCold(member, model) ? [member.shardId] : [])));
    return (one) => (cold.size === 0 ? 0 : cold.has(one.shardId) ? 1 : 2 * this.#overload(one));
  }

  #overload(candidate: RouteCandidate): number {
    return candidate.pending >= this.#options.overloadedPendingMin ? 1 : 0;
  }
}

function decisionOf([first, ...others]: readonly RouteCandidate[], knowsLoads: boolean): RoutePlan['decision'] {
  if (first === undefined) return 'ring';
  if (first.prefixTokens > 0) return 'prefix';
  return knowsLoads && others.some(({ pending }) => pending > first.pending) ? 'least_loaded' : 'ring';
}

const servesModel = (member: TopologyMember, model: string): boolean =>
  member.models.some(({ kind, name }) => kind === 'chat' && (model === 'default' || name === model));

const isUsable = (member: TopologyMember, state: RouteState): boolean =>
  member.health === 'alive' && member.ready && state.admits(member.shardId);

const isCold = (member: TopologyMember, model: string): boolean =>
  member.models.some(({ kind, name, loaded }) => kind === 'chat' && name === model && loaded === false);

/** Adapters belong to a shard's own chat model, the first it names. */
const announcementFor = (member: TopologyMember, adapter: WantedAdapter, model: string): AdapterCapabilityAnnouncement | undefined => {
  const own = member.models.find(({ kind }) => kind === 'chat')?.name;
  if (model !== 'default' && model !== own) return undefined;
  const fitting = member.announcements.filter((one) => fitsAdapter(one, adapter));
  return fitting.reduce<AdapterCapabilityAnnouncement | undefined>(
    (best, one) => (best === undefined || one.accuracyDelta > best.accuracyDelta ? one : best),
    undefined,
  );
};

const candidateOf = (
  member: TopologyMember,
  state: RouteState,
  score: number,
  announcement: AdapterCapabilityAnnouncement | undefined,
): RouteCandidate => ({
  shardId: member.shardId,
  score,
  pending: (member.load?.pendingLlmRequests ?? 0) + state.reserved(member.shardId),
  prefixTokens: 0,
  announcement,
});

const deltaOf = (candidate: RouteCandidate): number => candidate.announcement?.accuracyDelta ?? 0;
const declared = (candidate: RouteCandidate): number => (candidate.announcement?.source === 'declared' ? 1 : 0);
