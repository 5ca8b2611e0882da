import type { SamplingOptions } from '../../platform/index.js';
import { adjustLogits } from './adjustLogits.js';
import { allowedLogits } from './allowedLogits.js';
import type { Candidates } from './Candidates.js';
import { candidatesOf } from './candidatesOf.js';
import { largestLogit } from './largestLogit.js';
import { narrow } from './narrow.js';
import type { SampleRequest, TokenFilter } from './SampleRequest.js';
import { uniformAt } from './uniformAt.js';

/**
 * Picks the next token: bias, penalties and bans, then the largest logit (temperature 0, lowest id on ties) or temperature, top-k, top-p,
 * min-p, typical-p and a draw. A pure function of its input, hence the same under any load (R22).
 */
export function sampleToken(request: SampleRequest): number {
  const logits = adjustLogits(request);
  const uniform = uniformAt(request.seed, request.answer.length);
  return request.filter === undefined ? pick(logits, request, uniform) : pickAllowed(logits, request, request.filter);
}

function pick(logits: Float32Array, { sampling }: SampleRequest, uniform: number): number {
  const best = largestLogit(logits);
  if (sampling.temperature === 0) return best;
  const top = logits[best] as number;
  if (keepsAll(sampling)) return drawFromAll(logits, { best, top, temperature: sampling.temperature, uniform });
  return draw(narrow(candidatesOf(logits, top, sampling), sampling), uniform);
}

/**
 * Asks the constraint about one token before it asks about all, which is what makes it cheap: a model mostly keeps to the form by itself.
 * The distribution is that of the allowed tokens. Without filters a refused draw is repeated among them, by a number of its own: p + (1 - P)
 * p / P = p / P for a token of probability p where the allowed ones have P together. With filters, these say first what is likely, as
 * without a constraint, and the draw is among the allowed of those; where there is none, they choose among the allowed tokens.
 */
function pickAllowed(logits: Float32Array, request: SampleRequest, filter: TokenFilter): number {
  const { sampling, seed, answer } = request;
  const first = uniformAt(seed, answer.length);
  const isOneToken = sampling.temperature === 0 || keepsAll(sampling);
  const token = isOneToken ? pick(logits, request, first) : drawLikely(logits, request, filter);
  if (token !== undefined && (!isOneToken || filter.allows(token))) return token;
  return pick(allowedLogits(logits, request, filter), request, uniformAt(seed, -answer.length - 2));
}

/** Among the tokens that the filters keep, one that is allowed. */
function drawLikely(logits: Float32Array, { sampling, seed, answer }: SampleRequest, filter: TokenFilter): number | undefined {
  const top = logits[largestLogit(logits)] as number;
  const { tokens, weights } = narrow(candidatesOf(logits, top, sampling), sampling);
  const places = tokens.flatMap((token, place) => ((weights[place] as number) > 0 && filter.allows(token) ? [place] : []));
  if (places.length === 0) return undefined;
  const kept = { tokens: places.map((place) => tokens[place] as number), weights: places.map((place) => weights[place] as number) };
  return draw(kept, uniformAt(seed, answer.length));
}

const keepsAll = ({ topK, topP, minP, typicalP }: SamplingOptions): boolean => topK === 0 && topP === 1 && minP === 0 && typicalP === 1;

function draw({ tokens, weights }: Candidates, uniform: number): number {
  let left = uniform * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [place, weight] of weights.entries()) {
    left -= weight;
    if (left < 0) return tokens[place] as number;
  }
  return tokens[weights.findLastIndex((weight) => weight > 0)] as number; // rounding: the draw fell on the upper edge
}

interface FullDraw {
  readonly best: number;
  readonly top: number;
  readonly temperature: number;
  readonly uniform: number;
}

function drawFromAll(logits: Float32Array, { best, top, temperature, uniform }: FullDraw): number {
  let total = 0;
  for (const logit of logits) total += Math.exp((logit - top) / temperature);
  let left = uniform * total;
  for (let token = 0; token < logits.length; token++) {
    left -= Math.exp(((logits[token] as number) - top) / temperature);
    if (left < 0) return token;
  }
  return best; // rounding: the draw fell on the upper edge
}
