import type { OstrakaErrorJson } from '../base/index.js';

const codes: ReadonlySet<string> = new Set([
  'SHARD_UNAVAILABLE',
  'BREAKER_OPEN',
  'NO_PROGRESS',
  'ENGINE_LOST',
  'ENGINE_LOADING',
  'ENGINE_UNAVAILABLE',
  'ENGINE_STEP_FAILED',
  'QUEUE_FULL',
  'DEADLINE_UNREACHABLE',
  'ADAPTER_UNKNOWN',
  'MODEL_UNKNOWN',
  // Another shard may have the memory. MODEL_LOADING is none of these: every shard that is asked would load the model.
  'MODEL_MEMORY_BUSY',
  'MODEL_TOO_LARGE',
]);

/** Whether another shard could do better. What is wrong with the request itself stays wrong everywhere. */
export function retryableElsewhere(error: Pick<OstrakaErrorJson, 'code'>): boolean {
  return codes.has(error.code);
}
