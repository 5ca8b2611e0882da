import { assert } from '../base/index.js';
import type { SamplingOptions } from '../platform/index.js';
import { uniformAt } from './uniformAt.js';

export interface SampleRequest {
  /** Logits of one row; not changed. */
  readonly logits: Float32Array;
  readonly sampling: SamplingOptions;
  /** Seed of the request; the token's place in the answer picks the number of its stream. */
  readonly seed: number;
  /** Tokens of the answer so far: the repetition penalty looks at these and not at the prompt, so that an answer may quote it. */
  readonly answer: readonly number[];
}

interface Candidates {
  readonly tokens: readonly number[];
  readonly logits: readonly number[];
}

/**
 * Picks the next token: repetition penalty, then the largest logit (temperature 0, lowest id on ties) or temperature, top-k, top-p and a
 * draw. A pure function of its input, hence the same under any load (R22).
 */
export function sampleToken(request: SampleRequest): number {
  const { sampling } = request;
  const logits = sampling.repetitionPenalty === 1 ? request.logits : penalised(request.logits, request.answer, sampling.repetitionPenalty);
  if (sampling.temperature === 0) return argmax(logits);
  const uniform = uniformAt(request.seed, request.answer.length);
  if (sampling.topK === 0 && sampling.topP === 1) return drawFromAll(logits, sampling.temperature, uniform);
  const candidates = sampling.topK > 0 ? largest(logits, sampling.topK) : likely(logits, sampling);
  return drawFrom(candidates, sampling, uniform);
}

function penalised(logits: Float32Array, answer: readonly number[], penalty: number): Float32Array {
  const changed = logits.slice();
  for (const token of new Set(answer)) {
    const logit = changed[token] as number;
    changed[token] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return changed;
}

function argmax(logits: Float32Array): number {
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

/** The `count` largest logits in falling order, lower ids first among equals. */
function largest(logits: Float32Array, count: number): Candidates {
  const tokens: number[] = [];
  const kept: number[] = [];
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number;
    if (kept.length === count && !(logit > (kept[count - 1] as number))) continue;
    let place = kept.length === count ? count - 1 : kept.length;
    for (; place > 0 && (kept[place - 1] as number) < logit; place--) {
      kept[place] = kept[place - 1] as number;
      tokens[place] = tokens[place - 1] as number;
    }
    kept[place] = logit;
    tokens[place] = token;
  }
  return { tokens, logits: kept };
}

/**
 * Every token that top-p can keep, in falling order: tokens less likely than (1 - p) / vocabulary together weigh less than 1 - p, so the
 * nucleus is complete without them, and the sort is short.
 */
function likely(logits: Float32Array, { temperature, topP }: SamplingOptions): Candidates {
  const top = logits[argmax(logits)] as number;
  let total = 0;
  for (const logit of logits) total += Math.exp((logit - top) / temperature);
  const weightMin = ((1 - topP) / logits.length) * total;
  const tokens: number[] = [];
  for (let token = 0; token < logits.length; token++) {
    if (Math.exp(((logits[token] as number) - top) / temperature) >= weightMin) tokens.push(token);
  }
  tokens.sort((left, right) => (logits[right] as number) - (logits[left] as number) || left - right);
  return { tokens, logits: tokens.map((token) => logits[token] as number) };
}

function drawFrom({ tokens, logits }: Candidates, { temperature, topP }: SamplingOptions, uniform: number): number {
  const top = logits[0] as number;
  assert(Number.isFinite(top), 'logits are numbers');
  const weights = logits.map((logit) => Math.exp((logit - top) / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let nucleus = 0;
  let kept = 0;
  while (kept < weights.length && (kept === 0 || nucleus < topP * total)) nucleus += weights[kept++] as number;
  let left = uniform * nucleus;
  for (let place = 0; place < kept; place++) {
    left -= weights[place] as number;
    if (left < 0) return tokens[place] as number;
  }
  return tokens[kept - 1] as number; // rounding: the draw fell on the upper edge
}

function drawFromAll(logits: Float32Array, temperature: number, uniform: number): number {
  const best = argmax(logits);
  const top = logits[best] as number;
  let total = 0;
  for (const logit of logits) total += Math.exp((logit - top) / temperature);
  let left = uniform * total;
  for (let token = 0; token < logits.length; token++) {
    left -= Math.exp(((logits[token] as number) - top) / temperature);
    if (left < 0) return token;
  }
  return best; // rounding: the draw fell on the upper edge
}
