/** Work that a request still has before it. */
export interface RemainingWork {
  readonly promptRows: number;
  /** Tokens it will probably still draw. */
  readonly answerTokens: number;
}

export interface EstimateState {
  /** The request that asks. */
  readonly request: RemainingWork;
  /** Requests that hold a sequence. */
  readonly running: readonly RemainingWork[];
  /** Requests that wait before it. */
  readonly ahead: readonly RemainingWork[];
  readonly sequences: number;
  readonly prefillRowMs: number;
  /** Of a step with all sequences busy. */
  readonly decodeStepMs: number;
}

export interface AnswerEstimate {
  /** Milliseconds until it gets a sequence. */
  readonly startMs: number;
  /** Milliseconds until its last token. */
  readonly endMs: number;
}

const sum = (work: readonly RemainingWork[], pick: (one: RemainingWork) => number): number =>
  work.reduce((total, one) => total + pick(one), 0);

/**
 * When a request will probably be answered (R19), a pure function: rows of prompts go one after the other, tokens of answers in steps that
 * all sequences share. Nothing is assumed of requests that come later.
 */
export function estimateAnswer(state: EstimateState): AnswerEstimate {
  const { request, running, ahead, sequences, prefillRowMs, decodeStepMs } = state;
  const before = [...running, ...ahead];
  const mustWait = before.length >= sequences;
  const tokensBefore = mustWait ? sum(before, ({ answerTokens }) => answerTokens) / sequences : 0;
  const startMs = sum(before, ({ promptRows }) => promptRows) * prefillRowMs + tokensBefore * decodeStepMs;
  return { startMs, endMs: startMs + request.promptRows * prefillRowMs + request.answerTokens * decodeStepMs };
}
