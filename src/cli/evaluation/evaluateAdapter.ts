import { isRightAnswer } from './isRightAnswer.js';

export interface Question {
  readonly question: string;
  readonly answer: string;
}

/** One answer and its times as its engine measured them. */
export interface TimedAnswer {
  readonly text: string;
  readonly tokens: number;
  readonly firstTokenMs: number;
  readonly totalMs: number;
  readonly adapterDigest: string | undefined;
}

/** Where answers come from: a cluster, or an engine of our own. */
export interface AnswerSource {
  ask(question: string, options: { readonly withAdapter: boolean }): Promise<TimedAnswer>;
  close(): Promise<void>;
}

export interface AdapterEvaluation {
  readonly domain: string;
  readonly adapterDigest: string;
  readonly questions: number;
  readonly baseAccuracy: number;
  readonly adapterAccuracy: number;
  /** The normalised gain (E2): (adapter − base) / (1 − base), or the plain loss when the adapter is worse. */
  readonly accuracyDelta: number;
  /** p99 of the time for an answer of 32 tokens with the adapter less that without, ms. Answers differ in length, so each is scaled to 32. */
  readonly performanceDeltaP99Ms: number;
}

const answerTokens = 32;

/** Asks every question with and without the adapter in turn, so that a change of the machine's speed meets both alike. */
export async function evaluateAdapter(request: {
  readonly domain: string;
  readonly questions: readonly Question[];
  readonly source: AnswerSource;
  readonly onProgress: (done: number) => void;
}): Promise<AdapterEvaluation> {
  const { questions, source } = request;
  const base: TimedAnswer[] = [];
  const adapter: TimedAnswer[] = [];
  for (const { question } of questions) {
    base.push(await source.ask(question, { withAdapter: false }));
    adapter.push(await source.ask(question, { withAdapter: true }));
    request.onProgress(base.length + adapter.length);
  }
  const share = (answers: readonly TimedAnswer[]): number =>
    answers.filter(({ text }, i) => isRightAnswer(text, (questions[i] as Question).answer)).length / questions.length;
  const baseAccuracy = share(base);
  const adapterAccuracy = share(adapter);
  return {
    domain: request.domain,
    adapterDigest: adapter.find(({ adapterDigest }) => adapterDigest !== undefined)?.adapterDigest ?? '',
    questions: questions.length,
    baseAccuracy,
    adapterAccuracy,
    accuracyDelta: normalisedGain(baseAccuracy, adapterAccuracy),
    performanceDeltaP99Ms: p99(adapter) - p99(base),
  };
}

const normalisedGain = (base: number, adapter: number): number => {
  if (adapter <= base) return adapter - base;
  return (adapter - base) / (1 - base);
};

const p99 = (answers: readonly TimedAnswer[]): number => {
  const sorted = answers.flatMap(scaledMs).sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.99) - 1)] ?? 0;
};

/** An answer of a single token says nothing of the time between tokens. */
const scaledMs = ({ tokens, firstTokenMs, totalMs }: TimedAnswer): number[] =>
  tokens < 2 ? [] : [firstTokenMs + ((answerTokens - 1) * (totalMs - firstTokenMs)) / (tokens - 1)];
