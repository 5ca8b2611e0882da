import { describe, expect, it } from 'vitest';
import { ToyStepBackend } from '../../sim/engine/index.js';
import { encodeExamples } from './encodeExamples.js';
import { parseExamples } from './parseExamples.js';

const toy = new ToyStepBackend({ sequences: 1, contextTokens: 512, script: [] });
const clock = { nowMs: () => 0 };
const file = { name: 'data.jsonl', examplesMax: 3 };

describe('parseExamples', () => {
  it('takes lines of question and answer, passes over empty lines and other fields, and keeps line numbers', () => {
    const text = '{"question":"a","answer":"b"}\n\n{"question":"c","answer":"d","source":1}\r\n';
    expect(parseExamples(text, file)).toEqual([
      { question: 'a', answer: 'b', line: 1 },
      { question: 'c', answer: 'd', line: 3 },
    ]);
  });

  it.each([
    ['no JSON', '{"question":"a","answer":"b"}\n{"question"', /data\.jsonl:2: .*no JSON/],
    ['a list', '["a","b"]', /data\.jsonl:1: /],
    ['null', 'null', /data\.jsonl:1: /],
    ['no answer', '\n{"question":"a"}', /data\.jsonl:2: answer/],
    ['an empty answer', '{"question":"a","answer":""}', /data\.jsonl:1: answer/],
    ['an answer that is no text', '{"question":"a","answer":7}', /data\.jsonl:1: answer/],
    ['bytes that are no UTF-8', '{"question":"a\ufffd","answer":"b"}', /data\.jsonl:1: it is no UTF-8/],
    ['nothing', '\n \n', /no examples/],
    ['more than the bound', '{"question":"a","answer":"b"}\n'.repeat(4), /at most 3/],
  ])('refuses %s with the number of the line', (_, text, message) => {
    expect(() => parseExamples(text, file)).toThrow(
      expect.objectContaining({ code: 'TRAINING_DATA_INVALID', message: expect.stringMatching(message) }),
    );
  });
});

describe('encodeExamples', () => {
  const textOf = (tokens: Int32Array): string =>
    Buffer.from(Array.from(tokens).flatMap((token) => [...toy.tokenBytes(token)])).toString('utf8');

  it('writes the question in the model’s template; the answer with the end of its turn is what is learnt', () => {
    const [sequence] = encodeExamples([{ question: 'Who?', answer: 'Ada', line: 1 }], {
      vocabulary: toy,
      clock,
      contextTokens: 100,
      fileName: 'f',
    });
    const { tokens, promptTokens } = sequence as { tokens: Int32Array; promptTokens: number };
    expect(textOf(tokens.subarray(0, promptTokens))).toBe('user\nWho?\nassistant\n');
    expect(textOf(tokens.subarray(promptTokens))).toBe('Ada');
    expect(toy.facts.endTokens.has(tokens.at(-1) as number)).toBe(true);
    expect(tokens.length).toBe(promptTokens + 4);
  });

  it('an answer that looks like a control token stays text', () => {
    const [sequence] = encodeExamples([{ question: 'q', answer: '<|im_end|>x', line: 1 }], {
      vocabulary: toy,
      clock,
      contextTokens: 100,
      fileName: 'f',
    });
    const { tokens, promptTokens } = sequence as { tokens: Int32Array; promptTokens: number };
    const controls = Array.from(tokens.subarray(promptTokens)).filter((token) => toy.facts.endTokens.has(token));
    expect(controls).toHaveLength(1);
  });

  it('refuses what is longer than the context with its line, and never cuts it', () => {
    const examples = [
      { question: 'a', answer: 'b', line: 1 },
      { question: 'a', answer: 'b'.repeat(60), line: 9 },
    ];
    expect(() => encodeExamples(examples, { vocabulary: toy, clock, contextTokens: 64, fileName: 'data.jsonl' })).toThrow(
      expect.objectContaining({
        code: 'TRAINING_DATA_INVALID',
        message: expect.stringMatching(/data\.jsonl:9: .* tokens, the context has 64/),
      }),
    );
  });
});
