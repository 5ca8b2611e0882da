import { describe, expect, it } from 'vitest';
import { estimateAnswer } from './estimateAnswer.js';

const costs = { sequences: 2, prefillRowMs: 2, decodeStepMs: 50 };
const work = (promptRows: number, answerTokens: number) => ({ promptRows, answerTokens });

describe('estimateAnswer', () => {
  it('is the prompt and the answer alone on an idle engine', () => {
    expect(estimateAnswer({ ...costs, request: work(100, 10), running: [], ahead: [] })).toEqual({ startMs: 0, endMs: 700 });
  });

  it('waits for the prompts of those that run beside it, not for their answers, while a sequence is free', () => {
    expect(estimateAnswer({ ...costs, request: work(100, 10), running: [work(50, 1000)], ahead: [] })).toEqual({
      startMs: 100,
      endMs: 800,
    });
  });

  it('waits for a share of the answers before it when all sequences are taken', () => {
    const estimate = estimateAnswer({ ...costs, request: work(100, 10), running: [work(0, 100), work(0, 60)], ahead: [work(50, 40)] });
    expect(estimate).toEqual({ startMs: 100 + 100 * 50, endMs: 100 + 100 * 50 + 700 });
  });
});
