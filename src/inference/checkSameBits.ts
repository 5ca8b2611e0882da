import type { BackendRow, StepBackend } from '../platform/index.js';

/** Long enough for one cut into pieces that rule R allows. */
const promptTokens = 128;
const pieceTokens = 64;

/** What the machine does not keep; undefined = all is kept. */
export type BrokenPromise = 'a prompt in pieces' | 'rows decoded together' | 'rows that follow each other' | undefined;

/**
 * Whether this machine's kernels keep what scheduling builds on (rule R, R19, R20): a prompt has the same logits whole and in pieces, and
 * a row the same alone, beside those of other sequences and before others of its own (R26), to the bit. Takes some 300 rows of the model;
 * leaves it empty.
 * Errors: ENGINE_STEP_FAILED.
 */
export function checkSameBits(backend: StepBackend): BrokenPromise {
  if (backend.facts.contextTokens <= promptTokens) return undefined;
  const prompt = Array.from({ length: promptTokens }, (_, place) => (place * 7919 + 17) % backend.facts.vocabularySize);
  const next = prompt[1] as number;
  try {
    const whole = compute(backend, 0, 0, prompt);
    const alone = compute(backend, 0, promptTokens, [next]);
    backend.truncateSequence(0, 0);
    compute(backend, 0, 0, prompt.slice(0, pieceTokens));
    if (!sameBits(whole, compute(backend, 0, pieceTokens, prompt.slice(pieceTokens)))) return 'a prompt in pieces';
    if (!sameBits(alone, computeBesideOthers(backend, next))) return 'rows decoded together';
    return sameBits(alone, computeBeforeOthers(backend, next)) ? undefined : 'rows that follow each other';
  } finally {
    for (let sequence = 0; sequence < backend.facts.sequencesMax; sequence++) backend.truncateSequence(sequence, 0);
  }
}

/** Logits after the last of the tokens, as a copy: the backend's view ends with the next call. */
function compute(backend: StepBackend, sequence: number, from: number, tokens: readonly number[]): Float32Array {
  backend.useAdapter(null);
  backend.decode(tokens.map((token, place) => ({ token, position: from + place, sequence, wantLogits: place === tokens.length - 1 })));
  return backend.logits(tokens.length - 1).slice();
}

function computeBesideOthers(backend: StepBackend, next: number): Float32Array {
  const others = Array.from({ length: Math.min(3, backend.facts.sequencesMax - 1) }, (_, index) => index + 1);
  for (const sequence of others) compute(backend, sequence, 0, [sequence, next]);
  const rows: BackendRow[] = [
    { token: next, position: promptTokens, sequence: 0, wantLogits: true },
    ...others.map((sequence) => ({ token: next, position: 2, sequence, wantLogits: true })),
  ];
  backend.decode(rows);
  return backend.logits(0).slice();
}

/** As tokens are verified that were drafted to follow. */
function computeBeforeOthers(backend: StepBackend, next: number): Float32Array {
  backend.truncateSequence(0, promptTokens);
  const followers = Math.min(3, backend.facts.outputsMax - 1);
  const tokens = Array.from({ length: 1 + followers }, (_, place) => (next + place) % backend.facts.vocabularySize);
  backend.decode(tokens.map((token, place) => ({ token, position: promptTokens + place, sequence: 0, wantLogits: true })));
  return backend.logits(0).slice();
}

const sameBits = (left: Float32Array, right: Float32Array): boolean => left.every((logit, token) => Object.is(logit, right[token]));
