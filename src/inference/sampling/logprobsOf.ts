import type { AnswerLogprob, TokenLogprob } from '../../platform/index.js';
import { largestLogits } from './largestLogits.js';

/** Log-probabilities of a chosen token and of the `topCount` likeliest, from the model's own logits (R22). */
export function logprobsOf(
  logits: Float32Array,
  token: number,
  options: { readonly topCount: number; readonly tokenBytes: (token: number) => Uint8Array },
): AnswerLogprob {
  const logTotal = logSumExp(logits);
  const of = (each: number): TokenLogprob => ({
    token: each,
    bytes: [...options.tokenBytes(each)],
    logprob: (logits[each] as number) - logTotal,
  });
  const top = options.topCount === 0 ? [] : largestLogits(logits, options.topCount);
  return { ...of(token), top: top.map(of) };
}

function logSumExp(logits: Float32Array): number {
  const top = logits.reduce((best, logit) => Math.max(best, logit), Number.NEGATIVE_INFINITY);
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - top);
  return top + Math.log(total);
}
