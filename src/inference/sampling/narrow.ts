import type { SamplingOptions } from '../../platform/index.js';
import type { Candidates } from './Candidates.js';

/**
 * Narrows the candidates by top-p, min-p and typical-p, in this order, each over what the one before left. At least one candidate stays.
 */
export function narrow(candidates: Candidates, { topP, minP, typicalP }: SamplingOptions): Candidates {
  const nucleus = topP < 1 ? firstOf(candidates, countWeighing(candidates, topP)) : candidates;
  const likely = minP > 0 ? firstOf(nucleus, countAtLeast(nucleus, minP)) : nucleus;
  return typicalP < 1 ? typical(likely, typicalP) : likely;
}

const firstOf = ({ tokens, weights }: Candidates, count: number): Candidates => ({
  tokens: tokens.slice(0, count),
  weights: weights.slice(0, count),
});

const totalOf = (weights: readonly number[]): number => weights.reduce((sum, weight) => sum + weight, 0);

/** How many of the first weigh `share` of all together. */
function countWeighing({ weights }: Candidates, share: number): number {
  const target = share * totalOf(weights);
  let sum = 0;
  let count = 0;
  while (count < weights.length && (count === 0 || sum < target)) sum += weights[count++] as number;
  return count;
}

function countAtLeast({ weights }: Candidates, share: number): number {
  const least = share * (weights[0] as number);
  const count = weights.findIndex((weight) => weight < least);
  return count < 0 ? weights.length : Math.max(1, count);
}

/**
 * Locally typical sampling (Meister et al. 2023): by falling nearness of a token's surprise to the entropy until the share is reached;
 * the kept ones stay in the order of likelihood.
 */
function typical(candidates: Candidates, share: number): Candidates {
  const { tokens, weights } = candidates;
  const total = totalOf(weights);
  const surprises = weights.map((weight) => -Math.log(weight / total));
  const entropy = weights.reduce((sum, weight, i) => (weight > 0 ? sum + (weight / total) * (surprises[i] as number) : sum), 0);
  const distance = (i: number): number => Math.abs((surprises[i] as number) - entropy);
  const order = tokens.map((_, i) => i).sort((left, right) => distance(left) - distance(right) || left - right);
  const count = countWeighing({ tokens: order, weights: order.map((i) => weights[i] as number) }, share);
  const kept = order.slice(0, count).sort((left, right) => left - right);
  return { tokens: kept.map((i) => tokens[i] as number), weights: kept.map((i) => weights[i] as number) };
}
