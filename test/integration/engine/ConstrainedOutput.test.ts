import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isValid } from '../../../src/inference/grammar/testing/isValid.js';
import type { Constraint, SamplingOptions } from '../../../src/platform/index.js';
import type { AssembledEngine } from '../../../src/shard/index.js';
import { openTestEngine } from './openTestEngine.js';
import { testPrompts } from './testPrompts.js';

// Each with an end that a small model comes to: what is unbounded it repeats until tokensMax.
const text = { type: 'string', minLength: 1, maxLength: 16 };
const schemas = [
  {
    type: 'object',
    properties: { name: text, age: { type: 'integer', minimum: 0, maximum: 120 }, email: { type: 'string', format: 'email' } },
    required: ['name', 'age'],
  },
  {
    type: 'array',
    items: { type: 'object', properties: { city: text, born: { format: 'date' } }, required: ['city'] },
    minItems: 1,
    maxItems: 2,
  },
  {
    type: 'object',
    properties: {
      mood: { enum: ['good', 'bad', 'so so'] },
      score: { type: 'number', minimum: 0, maximum: 1 },
      next: { anyOf: [{ $ref: '#/properties/mood' }, { type: 'null' }, { items: text, maxItems: 3 }] },
    },
    required: ['mood', 'score'],
  },
  {
    properties: { id: { pattern: '^[A-Z]{2}-\\d{3}$' }, at: { format: 'time' }, open: { type: ['boolean', 'null'] } },
    required: ['id', 'open'],
  },
];
const questions = ['Tell me about Ann, who is 34.', 'Where did the poet live?', 'How do you feel?', 'Give me the ticket.', 'Say anything.'];
const cases = questions.flatMap((question) => schemas.map((schema) => ({ question, schema })));

describe('constrained output on SmolLM2-135M (R22)', () => {
  let engine: AssembledEngine;
  beforeAll(() => {
    engine = openTestEngine({ sequences: 16, contextTokens: 512 });
  });
  afterAll(() => engine.close(new Error('test is over')));

  const ask = async (content: string, constraint: Constraint, sampling: Partial<SamplingOptions> = {}) => {
    const request = testPrompts.request(content, { tokensMax: 300, constraint, ...sampling });
    const answer = { text: '', reason: '' };
    for await (const event of engine.generate(request, new AbortController().signal)) {
      if (event.kind === 'text') answer.text += event.text;
      if (event.kind === 'finished') answer.reason = event.finishReason;
    }
    return answer;
  };
  const samplings: readonly { readonly name: string; readonly of: (index: number) => Partial<SamplingOptions> }[] = [
    { name: 'greedy', of: () => ({}) },
    { name: 'sampled', of: (index) => ({ temperature: 1, seed: index }) },
    {
      name: 'sampled with filters',
      of: (index) => ({ temperature: 0.8, topP: 0.95, topK: 40, minP: 0.02, repetitionPenalty: 1.1, seed: index }),
    },
  ];

  for (const { name, of } of samplings) {
    it(`gives 20 of 20 answers of the schema, ${name}, alone and in load the same`, { timeout: 300_000 }, async () => {
      const asks = cases.map(
        ({ question, schema }, index) =>
          () =>
            ask(question, { kind: 'jsonSchema', schema }, of(index)),
      );
      const together = await Promise.all(asks.map((one) => one()));
      for (const [index, { text: answer, reason }] of together.entries()) {
        expect(reason, answer).toBe('stop');
        expect(isValid(JSON.parse(answer), cases[index]?.schema ?? false), answer).toBe(true);
      }
      expect(new Set(together.map(({ text: answer }) => answer)).size).toBeGreaterThan(8);
      // One of each schema, and of each question but one.
      for (let index = 0; index < asks.length; index += schemas.length + 1) expect(await asks[index]?.()).toEqual(together[index]);
    });
  }

  it('keeps JSON mode, regular expressions, choices and GBNF', { timeout: 120_000 }, async () => {
    const json = await ask('Answer in JSON: who wrote Hamlet?', { kind: 'json' }, { tokensMax: 400 });
    if (json.reason === 'stop') expect(typeof JSON.parse(json.text)).toBe('object');
    expect(json.text).toMatch(/^[[{]/);
    expect((await ask('When?', { kind: 'regex', pattern: '(19|20)\\d\\d-(0[1-9]|1[0-2])' })).text).toMatch(/^(19|20)\d\d-(0[1-9]|1[0-2])$/);
    const texts = ['Paris', 'Rome', 'Île-de-France'];
    expect(texts).toContain((await ask('What is the capital of France?', { kind: 'choice', texts })).text);
    const grammar = 'root ::= "<" [a-z]{1,8} ">" ("(" root ")")?';
    expect((await ask('Go.', { kind: 'gbnf', grammar }, { temperature: 1.5, seed: 3 })).text).toMatch(/^(<[a-z]{1,8}>\(?)+\)*$/);
  });
});
