import type { SamplingOptions } from '../../platform/index.js';
import type { Candidates } from './Candidates.js';
import { largestLogits } from './largestLogits.js';

/**
 * The tokens that a request's filters can keep, the likeliest first. Complete for them, yet short: a token that top-p or min-p drops for
 * certain is left out before sorting.
 */
export function candidatesOf(logits: Float32Array, top: number, sampling: SamplingOptions): Candidates {
  const tokens = sampling.topK > 0 ? largestLogits(logits, sampling.topK) : likely(logits, top, sampling);
  return { tokens, weights: tokens.map((token) => Math.exp(((logits[token] as number) - top) / sampling.temperature)) };
}

function likely(logits: Float32Array, top: number, sampling: SamplingOptions): readonly number[] {
  const logitMin = top + sampling.temperature * Math.log(weightMin(logits, top, sampling));
  const tokens: number[] = [];
  for (let token = 0; token < logits.length; token++) if ((logits[token] as number) >= logitMin) tokens.push(token);
  return tokens.sort((left, right) => (logits[right] as number) - (logits[left] as number) || left - right);
}

/**
 * Relative to the likeliest token. Tokens less likely than (1 - p) / vocabulary together weigh less than 1 - p, so that the nucleus is
 * complete without them. Halved against rounding; what is kept too much, the filters drop.
 */
function weightMin(logits: Float32Array, top: number, { temperature, topP, minP }: SamplingOptions): number {
  const byMinP = topP < 1 ? 0 : minP / 2;
  if (topP === 1) return byMinP;
  let total = 0;
  for (const logit of logits) total += Math.exp((logit - top) / temperature);
  return (((1 - topP) / logits.length) * total) / 2;
}
