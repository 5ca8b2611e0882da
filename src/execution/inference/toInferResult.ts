import type { JsonValue } from '../../base/index.js';
import type { ClusterAnswer } from '../../cooperation/index.js';

/** What `OPTIONS {detail: true}` shows besides the answer. */
export interface InferDetail {
  readonly model: string;
  readonly domain: string | undefined;
  /** Passages of CONTEXT by name; undefined without CONTEXT. */
  readonly citations: readonly JsonValue[] | undefined;
}

/** The result of one INFER: the text, or with a detail the object that docs/reference/aql.md describes. */
export function toInferResult(answer: ClusterAnswer, detail: InferDetail | undefined): JsonValue {
  if (detail === undefined) return answer.text;
  const { routing, usage, timing } = answer;
  return {
    text: answer.text,
    model: detail.model,
    adapter: routing.adapterDigest ?? null,
    domain: detail.domain ?? null,
    shard: routing.shardId,
    routing: { decision: routing.decision, score: routing.score, tier: routing.tier ?? null },
    finish_reason: answer.finishReason,
    usage: { prompt: usage.promptTokens, completion: usage.completionTokens, cached: usage.cachedTokens },
    timing: { queue_ms: timing.queueMs, ttft_ms: timing.firstTokenMs, total_ms: timing.totalMs },
    ...(detail.citations && { citations: detail.citations, retrieval_rounds: 1 }),
  };
}
