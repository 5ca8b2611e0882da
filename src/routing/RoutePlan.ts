import type { ShardId } from '../base/index.js';
import type { AdapterCapabilityAnnouncement } from '../membership/index.js';

/** How a target was found. `domain`: an announced adapter; `prefix`: it has rows of the prompt's beginning and is not busier for it; `least_loaded`: fewest pending requests; `ring`: no fresh load to go by. */
export type RouteDecision = 'domain' | 'prefix' | 'least_loaded' | 'ring';

export interface RouteCandidate {
  readonly shardId: ShardId;
  /** accuracyDelta − γ·λ; 0 for shards without an adapter of the domain. */
  readonly score: number;
  readonly pending: number;
  /** Tokens of the prompt's beginning whose rows it has. */
  readonly prefixTokens: number;
  readonly announcement: AdapterCapabilityAnnouncement | undefined;
}

/** Where a request goes and why, as EXPLAIN and `detail` show it. Plain data; the caller performs it. */
export interface RoutePlan {
  readonly decision: RouteDecision;
  /** Best first; the later ones are for retries. */
  readonly candidates: readonly RouteCandidate[];
  /** The threshold that the winner passed; undefined outside `domain`. */
  readonly tier: number | undefined;
  /** Why a domain was asked for but did not decide. */
  readonly fallbackReason: 'no_capable_shard' | 'capable_shards_unavailable' | undefined;
}
