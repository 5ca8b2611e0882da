import type { OstrakaErrorJson, ShardId } from '../base/index.js';
import type {
  AdapterIdentity,
  AnswerLogprob,
  ChatMessage,
  GenerateEvent,
  GenerateTiming,
  SamplingOptions,
  TokenUsage,
  ToolUse,
} from '../platform/index.js';
import type { RouteDecision, RoutePlan, WantedAdapter } from '../routing/index.js';

/** An inference request to the cluster, before it is known who answers. */
export interface ClusterRequest {
  readonly requestId: string;
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** Continued as it stands; `messages` is then empty. */
  readonly prompt?: string;
  readonly tools?: ToolUse;
  readonly domain?: string;
  /** What `domain` stands for where it is the name of an adapter; the router sets it. */
  readonly adapter?: WantedAdapter;
  /** Of the prompt's beginning, tokens whose rows a shard has; the service sets it. */
  readonly prefixTokens?: ReadonlyMap<ShardId, number>;
  readonly sampling: SamplingOptions;
  readonly priority: 'low' | 'normal' | 'high' | 'critical';
  /** Whose request it is: owners share an engine fairly. */
  readonly owner?: string;
  /** Somebody reads the tokens as they come; absent = true. */
  readonly streamed?: boolean;
  /** Counts from admission, ms. */
  readonly timeoutMs: number;
  /** In a batch: ends this entry alone, with DEADLINE_EXCEEDED, so long after the batch began, ms. Absent = with the batch. */
  readonly entryTimeoutMs?: number;
  /** `isNamed`: the domain is the name of an adapter that the caller wants, not a subject. */
  readonly route?: { readonly scoreMin?: number; readonly fallback: 'hash' | 'fail'; readonly isNamed?: boolean };
}

/** Who answers and why. */
export interface RoutingReport {
  readonly shardId: ShardId;
  readonly decision: RouteDecision;
  readonly score: number;
  readonly tier: number | undefined;
  /** Why no shard of the request's domain answers; absent where one does, or none was asked for. */
  readonly fallback?: NonNullable<RoutePlan['fallbackReason']>;
  /** Who computes with it; absent = the base model. */
  readonly adapter?: AdapterIdentity;
}

export type ClusterEvent = { readonly kind: 'routed'; readonly routing: RoutingReport } | GenerateEvent;

export interface ClusterAnswer {
  readonly text: string;
  /** Empty unless the request asked for them. */
  readonly logprobs: readonly AnswerLogprob[];
  readonly finishReason: 'stop' | 'length';
  readonly usage: TokenUsage;
  readonly timing: GenerateTiming;
  readonly routing: RoutingReport;
}

/** Outcome of one entry of a batch: each entry gets exactly one. */
export type BatchOutcome =
  | { readonly kind: 'answer'; readonly answer: ClusterAnswer }
  | { readonly kind: 'error'; readonly error: OstrakaErrorJson };

export interface BatchResult {
  /** Position of the entry in the batch. */
  readonly index: number;
  readonly outcome: BatchOutcome;
}

/** What a scatter cost; complete once its results have ended. */
export interface ScatterReport {
  /** RPC requests sent: one a target shard, plus retries. */
  requests: number;
  retries: number;
  /** Entries with a domain that no capable shard took. */
  fallbacks: number;
  /** A second answer for an entry, dropped. */
  duplicates: number;
  readonly perShard: Map<ShardId, number>;
}
