import { assert } from '../../base/index.js';

/** The token with the largest logit, the lowest id on ties. */
export function largestLogit(logits: Float32Array): number {
  let best = 0;
  let bestLogit = logits[0] as number;
  for (let token = 1; token < logits.length; token++) {
    const logit = logits[token] as number;
    if (logit > bestLogit) {
      best = token;
      bestLogit = logit;
    }
  }
  assert(Number.isFinite(bestLogit), 'logits are numbers');
  return best;
}
