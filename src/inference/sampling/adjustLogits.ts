import type { SampleRequest } from './SampleRequest.js';

/**
 * The logits after bias, penalties and bans; the given ones where nothing is to be changed. Order: bias, repetition (a factor), then
 * presence and frequency (a difference), then bans, which nothing outweighs.
 */
export function adjustLogits(request: SampleRequest): Float32Array {
  const { sampling, answer } = request;
  const bans = bannedTokens(request);
  const penalises = sampling.repetitionPenalty !== 1 || sampling.presencePenalty !== 0 || sampling.frequencyPenalty !== 0;
  if (bans.length === 0 && sampling.logitBias.length === 0 && !(penalises && answer.length > 0)) return request.logits;
  const logits = copied(request);
  for (const { token, bias } of sampling.logitBias) logits[token] = (logits[token] as number) + bias;
  if (penalises) penalise(logits, request);
  for (const token of bans) logits[token] = Number.NEGATIVE_INFINITY;
  return logits;
}

function copied({ logits, scratch }: SampleRequest): Float32Array {
  if (scratch === undefined) return logits.slice();
  scratch.set(logits);
  return scratch;
}

function penalise(logits: Float32Array, { sampling, answer }: SampleRequest): void {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = sampling;
  for (const [token, count] of countsOf(answer)) {
    const logit = logits[token] as number;
    const scaled = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
    logits[token] = scaled - presencePenalty - frequencyPenalty * count;
  }
}

function countsOf(answer: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const token of answer) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}

function bannedTokens({ sampling, answer, endTokens }: SampleRequest): readonly number[] {
  if (answer.length < sampling.tokensMin) return [...endTokens, ...sampling.stopTokens];
  return sampling.ignoreEnd ? [...endTokens] : [];
}
