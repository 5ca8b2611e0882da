import { adjustLogits } from './adjustLogits.js';
import type { Candidates } from './Candidates.js';
import { candidatesOf } from './candidatesOf.js';
import { largestLogit } from './largestLogit.js';
import { narrow } from './narrow.js';
import type { SampleRequest } from './SampleRequest.js';
import { uniformAt } from './uniformAt.js';

/**
 * Picks the next token: bias, penalties and bans, then the largest logit (temperature 0, lowest id on ties) or temperature, top-k, top-p,
 * min-p, typical-p and a draw. A pure function of its input, hence the same under any load (R22).
 */
export function sampleToken(request: SampleRequest): number {
  const { sampling } = request;
  const logits = adjustLogits(request);
  const best = largestLogit(logits);
  if (sampling.temperature === 0) return best;
  const uniform = uniformAt(request.seed, request.answer.length);
  const top = logits[best] as number;
  if (keepsAll(request)) return drawFromAll(logits, { best, top, temperature: sampling.temperature, uniform });
  return draw(narrow(candidatesOf(logits, top, sampling), sampling), uniform);
}

const keepsAll = ({ sampling: { topK, topP, minP, typicalP } }: SampleRequest): boolean =>
  topK === 0 && topP === 1 && minP === 0 && typicalP === 1;

function draw({ tokens, weights }: Candidates, uniform: number): number {
  let left = uniform * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [place, weight] of weights.entries()) {
    left -= weight;
    if (left < 0) return tokens[place] as number;
  }
  return tokens.at(-1) as number; // rounding: the draw fell on the upper edge
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
