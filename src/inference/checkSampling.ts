import { assert } from '../base/index.js';
import type { SamplingOptions } from '../platform/index.js';

/** States the ranges of a resolved SamplingOptions. The border refuses a client's values outside them; here they are a programming error. */
export function checkSampling(sampling: SamplingOptions): void {
  const { tokensMax, temperature, topP, topK, repetitionPenalty, seed, stop } = sampling;
  assert(Number.isInteger(tokensMax) && tokensMax >= 1, 'tokensMax is a positive count', { tokensMax });
  assert(Number.isFinite(temperature) && temperature >= 0, 'temperature is at least 0', { temperature });
  assert(topP > 0 && topP <= 1, 'topP is in (0, 1]', { topP });
  assert(Number.isInteger(topK) && topK >= 0, 'topK is a count', { topK });
  assert(Number.isFinite(repetitionPenalty) && repetitionPenalty > 0, 'repetitionPenalty is positive', { repetitionPenalty });
  assert(seed === undefined || Number.isSafeInteger(seed), 'seed is an integer');
  assert(
    stop.every((text) => text.length > 0),
    'stop strings are not empty',
  );
}
