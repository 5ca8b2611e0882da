import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GenerateRequest, plainSampling, type SamplingOptions } from '../../../src/platform/index.js';
import { NodeClock } from '../../../src/platform/node/index.js';
import type { AssembledEngine } from '../../../src/shard/index.js';
import { openTestEngine } from './openTestEngine.js';
import { testAdapters } from './testAdapters.js';
import { testPrompts } from './testPrompts.js';

const greedy: SamplingOptions = { ...plainSampling, tokensMax: 24 };

const { passage, known } = testPrompts;

/** 16 prompts of 40 to about 400 tokens. */
const questions = Array.from(
  { length: 16 },
  (_, index) => `${passage.repeat(index % 6)}${['Who keeps the log?', known, 'Name a fruit.', 'When is it copied?'][index % 4]}`,
);

const request = (content: string, overrides: Partial<GenerateRequest> = {}) => testPrompts.request(content, greedy, overrides);

describe('InferenceEngine on SmolLM2-135M', () => {
  const { signal } = new AbortController();
  let engine: AssembledEngine;
  beforeAll(() => {
    engine = openTestEngine({ sequences: 16, contextTokens: 512 });
  });
  afterAll(() => engine.close(new Error('test is over')));

  const firstLogprob = async (content: string) => {
    const sampling = { ...greedy, tokensMax: 8, logprobsTop: 5 };
    for await (const event of engine.generate(request(content, { sampling }), signal)) {
      const first = event.kind === 'text' ? event.logprobs?.[0] : undefined;
      if (first) return first;
    }
    throw new Error('no text');
  };
  const answer = async (asked: GenerateRequest): Promise<string> => {
    let text = '';
    for await (const event of engine.generate(asked, new AbortController().signal)) if (event.kind === 'text') text += event.text;
    return text;
  };
  const oneByOne = async (requests: readonly GenerateRequest[]): Promise<string[]> => {
    const answers: string[] = [];
    for (const one of requests) answers.push(await answer(one));
    return answers;
  };

  it('gives 16 of 16 prompts the same text alone, all at once and staggered (R22)', { timeout: 180_000 }, async () => {
    const requests = questions.map((question) => request(question));
    const alone = await oneByOne(requests);
    expect(new Set(alone).size).toBeGreaterThan(4);
    expect(await Promise.all(requests.map(answer))).toEqual(alone);
    const clock = new NodeClock();
    const staggered = requests.map(async (one, index) => {
      await clock.sleep(index * 150);
      return answer(one);
    });
    expect(await Promise.all(staggered)).toEqual(alone);
  });

  it('gives a known prompt that is moved before its first row the same text (R20, R22)', { timeout: 60_000 }, async () => {
    const [known, other] = [request(questions[5] as string), request(`Quite another matter. ${questions[4]}`)];
    const alone = await answer(known);
    await Promise.all([answer(request('Say hi.')), answer(other)]); // other rows where the known ones will be put
    const endsAtOnce = request('Say hi.', { sampling: { ...greedy, tokensMax: 1 } });
    const [, moved] = await Promise.all([answer(endsAtOnce), answer(known)]);
    expect(moved).toBe(alone);
  });

  it('gives the same text with drafts from what was said before as without, alone and together (R26)', { timeout: 60_000 }, async () => {
    const plain = openTestEngine({ sequences: 1, contextTokens: 512 }, { draftTokensMax: 0 });
    const sampling = { ...greedy, tokensMax: 40 };
    const asked = [
      `Repeat this text word for word: ${passage.slice(0, 120)}`,
      'Go on: one two three four one two three four one two ',
    ].flatMap((content) => [request(content, { sampling }), request(content, { sampling: { ...sampling, temperature: 0.7, seed: 1 } })]);
    const textOf = async (on: AssembledEngine, one: GenerateRequest): Promise<string> => {
      let text = '';
      for await (const event of on.generate(one, signal)) if (event.kind === 'text') text += event.text;
      return text;
    };
    const expected: string[] = [];
    for (const one of asked) expected.push(await textOf(plain, one));
    const accepted = () => engine.figures().speculation.acceptedTokens;
    const before = accepted();
    expect(await oneByOne(asked)).toEqual(expected);
    expect(accepted() - before).toBeGreaterThan(0); // how many depends on what steps cost, and so on what else the machine does
    expect(await Promise.all(asked.map(answer))).toEqual(expected);
    await plain.close(new Error('test is over'));
  });

  it('gives the same text for the same seed alone and under load, another for another seed (R22)', { timeout: 120_000 }, async () => {
    const sampling = {
      ...greedy,
      temperature: 0.8,
      topP: 0.95,
      topK: 40,
      minP: 0.02,
      typicalP: 0.97,
      repetitionPenalty: 1.1,
      presencePenalty: 0.2,
      frequencyPenalty: 0.1,
    };
    const requests = questions.slice(0, 6).map((question, index) => request(question, { sampling: { ...sampling, seed: index } }));
    const alone = await oneByOne(requests);
    expect(await Promise.all(requests.map(answer))).toEqual(alone);
    const story = (seed: number) => answer(request('Tell me a story.', { sampling: { ...sampling, seed } }));
    expect(await story(1)).not.toBe(await story(2));
  });

  it('keeps tokensMin, ignoreEnd, stop tokens and bias on the real vocabulary (R22)', { timeout: 60_000 }, async () => {
    const usageOf = async (sampling: Partial<SamplingOptions>) => {
      for await (const event of engine.generate(request('Say hi.', { sampling: { ...greedy, ...sampling } }), signal))
        if (event.kind === 'finished') return { reason: event.finishReason, tokens: event.usage.completionTokens };
      return undefined;
    };
    const plain = await usageOf({ tokensMax: 200 });
    expect(plain?.reason).toBe('stop');
    const more = (plain?.tokens ?? 0) + 20; // beyond where it ends by itself
    expect(await usageOf({ tokensMax: more, ignoreEnd: true })).toEqual({ reason: 'length', tokens: more });
    expect((await usageOf({ tokensMax: more + 1, tokensMin: more }))?.tokens).toBeGreaterThanOrEqual(more);
    const first = await firstLogprob('Say hi.');
    expect(await usageOf({ stopTokens: [first.token] })).toEqual({ reason: 'stop', tokens: 0 });
    const banned = await answer(request('Say hi.', { sampling: { ...greedy, logitBias: [{ token: first.token, bias: -100 }] } }));
    expect(banned.startsWith(Buffer.from(first.bytes).toString())).toBe(false);
  });

  it('serves two adapters and the base model at once, each as alone (R21)', { timeout: 120_000 }, async () => {
    const loaded = await Promise.all(testAdapters().map((path) => engine.loadAdapter({ path, scale: 1 }, signal)));
    const requests = questions.slice(0, 6).map((question, index) => {
      const adapter = loaded[index % 3];
      return request(question, adapter && { adapter });
    });
    const alone = await oneByOne(requests);
    expect(await Promise.all(requests.map(answer))).toEqual(alone);
    const same = await Promise.all(
      [undefined, ...loaded].map((adapter) => answer(request(questions[4] as string, adapter && { adapter }))),
    );
    expect(new Set(same).size).toBe(3);
    for (const adapter of loaded) await engine.unloadAdapter(adapter, signal);
    expect(engine.adapters()).toEqual([]);
  });

  it('frees the sequence and the pages of a cancelled request at once, in prefill and while decoding (R19)', async () => {
    for (const eventsBefore of [1, 4]) {
      const abort = new AbortController();
      const asked = request(questions[5] as string, { sampling: { ...greedy, tokensMax: 64 } });
      const events = engine.generate(asked, abort.signal)[Symbol.asyncIterator]();
      for (let seen = 0; seen < eventsBefore; seen++) await events.next();
      expect(engine.load().sequencesBusy).toBe(1);
      expect(engine.figures().cells.held).toBeGreaterThan(0);
      abort.abort();
      expect(engine.load()).toMatchObject({ sequencesBusy: 0, pendingLlmRequests: 0 });
      expect(engine.figures().cells.held).toBe(0);
      await expect(events.next().then(() => events.next())).rejects.toMatchObject({ code: 'CANCELLED' });
    }
  });

  it('embeds a large batch while others decode, and keeps its order', { timeout: 120_000 }, async () => {
    const texts = Array.from({ length: 60 }, (_, index) => `Entry ${index}: ${passage.slice(0, 20 + ((index * 37) % 200))}`);
    const one = await engine.embed({ requestId: 'one', model: 'default', texts: [texts[17] as string] }, signal);
    const [batch, text] = await Promise.all([
      engine.embed({ requestId: 'batch', model: 'default', texts }, signal),
      answer(request(questions[1] as string)),
    ]);
    expect(text).toBe(await answer(request(questions[1] as string)));
    expect(batch.vectors).toHaveLength(60);
    const distance =
      1 - (one.vectors[0] as readonly number[]).reduce((sum, value, place) => sum + value * (batch.vectors[17]?.[place] as number), 0);
    expect(distance).toBeLessThanOrEqual(1e-6);
  });
});
