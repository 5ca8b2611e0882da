import type { SampleRequest, TokenFilter } from './SampleRequest.js';

/**
 * Adjusted logits with all tokens that the constraint forbids out of reach. A ban or a bias that leaves none of the allowed ones gives way:
 * then it is the model's own logits that choose, so that an answer can always go on or end.
 */
export function allowedLogits(adjusted: Float32Array, { logits }: SampleRequest, filter: TokenFilter): Float32Array {
  const mask = filter.allowed();
  return masked(adjusted, mask) ?? masked(logits, mask) ?? adjusted;
}

function masked(logits: Float32Array, mask: Uint32Array): Float32Array | undefined {
  const kept = new Float32Array(logits.length).fill(Number.NEGATIVE_INFINITY);
  let isAny = false;
  for (let token = 0; token < logits.length; token++) {
    if ((((mask[token >>> 5] as number) >>> (token & 31)) & 1) === 0) continue;
    kept[token] = logits[token] as number;
    isAny ||= kept[token] !== Number.NEGATIVE_INFINITY;
  }
  return isAny ? kept : undefined;
}
