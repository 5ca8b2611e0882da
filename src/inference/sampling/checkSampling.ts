import { assert } from '../../base/index.js';
import type { SamplingOptions } from '../../platform/index.js';
import { checkToken } from './checkToken.js';

/**
 * States the ranges of a resolved SamplingOptions. The border refuses a client's values outside them; here they are a programming error.
 * Only the model knows which tokens there are. Errors: TOKEN_UNKNOWN.
 */
export function checkSampling(sampling: SamplingOptions, vocabularySize: number): void {
  const { tokensMax, tokensMin, temperature, topP, topK, minP, typicalP, seed, stop } = sampling;
  assert(Number.isInteger(tokensMax) && tokensMax >= 1, 'tokensMax is a positive count', { tokensMax });
  assert(Number.isInteger(tokensMin) && tokensMin >= 0 && tokensMin <= tokensMax, 'tokensMin is a count up to tokensMax', { tokensMin });
  assert(Number.isFinite(temperature) && temperature >= 0, 'temperature is at least 0', { temperature });
  assert(topP > 0 && topP <= 1, 'topP is in (0, 1]', { topP });
  assert(minP >= 0 && minP <= 1, 'minP is in [0, 1]', { minP });
  assert(typicalP > 0 && typicalP <= 1, 'typicalP is in (0, 1]', { typicalP });
  assert(Number.isInteger(topK) && topK >= 0, 'topK is a count', { topK });
  assert(seed === undefined || Number.isSafeInteger(seed), 'seed is an integer');
  assert(
    stop.every((text) => text.length > 0),
    'stop strings are not empty',
  );
  checkPenalties(sampling);
  for (const token of [...sampling.stopTokens, ...sampling.logitBias.map((each) => each.token)]) checkToken(token, vocabularySize);
}

function checkPenalties({ repetitionPenalty, presencePenalty, frequencyPenalty, logitBias }: SamplingOptions): void {
  assert(Number.isFinite(repetitionPenalty) && repetitionPenalty > 0, 'repetitionPenalty is positive', { repetitionPenalty });
  assert(Number.isFinite(presencePenalty), 'presencePenalty is a number', { presencePenalty });
  assert(Number.isFinite(frequencyPenalty), 'frequencyPenalty is a number', { frequencyPenalty });
  assert(
    logitBias.every(({ bias }) => Number.isFinite(bias)),
    'biases are numbers',
  );
}
