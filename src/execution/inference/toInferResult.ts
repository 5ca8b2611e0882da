import type { JsonValue } from '../../base/index.js';
import type { ClusterAnswer } from '../../cooperation/index.js';
import { executionError } from '../errors.js';

/** What `OPTIONS {detail: true}` shows besides the answer. */
export interface InferDetail {
  readonly model: string;
  readonly domain: string | undefined;
  /** Passages of CONTEXT by name; undefined without CONTEXT. */
  readonly citations: readonly JsonValue[] | undefined;
}

export interface InferForm {
  readonly detail: InferDetail | undefined;
  /** The answer is JSON by its schema, and its value is the result. */
  readonly isJson: boolean;
}

/**
 * The result of one INFER: the text or, with SCHEMA, the value; with a detail the object that docs/reference/aql.md describes.
 * Errors: INFER_SCHEMA_VIOLATED.
 */
export function toInferResult(answer: ClusterAnswer, { detail, isJson }: InferForm): JsonValue {
  const result = isJson ? wholeValue(answer) : answer.text;
  if (detail === undefined) return result;
  const { routing, usage, timing } = answer;
  return {
    ...(isJson ? { value: result } : { text: result }),
    model: detail.model,
    adapter: routing.adapter?.digest ?? null,
    adapter_scale: routing.adapter?.scale ?? null,
    domain: detail.domain ?? null,
    shard: routing.shardId,
    routing: { decision: routing.decision, score: routing.score, tier: routing.tier ?? null },
    finish_reason: answer.finishReason,
    usage: { prompt: usage.promptTokens, completion: usage.completionTokens, cached: usage.cachedTokens },
    timing: { queue_ms: timing.queueMs, ttft_ms: timing.firstTokenMs, total_ms: timing.totalMs },
    ...(detail.citations && { citations: detail.citations, retrieval_rounds: 1 }),
  };
}

/** What decoding was bound to is valid when it is whole. A number that was cut is a number still: only its end tells. */
function wholeValue({ text, finishReason }: ClusterAnswer): JsonValue {
  const cut = finishReason === 'length';
  const data = { characters: text.length };
  const violated = (cause?: unknown) =>
    executionError('INFER_SCHEMA_VIOLATED', `the answer is no whole JSON value${cut ? ': max_tokens were drawn before it ended' : ''}`, {
      cause,
      data,
    });
  try {
    const value = JSON.parse(text) as JsonValue;
    if (!(cut && typeof value === 'number')) return value;
  } catch (cause) {
    throw violated(cause);
  }
  throw violated();
}
