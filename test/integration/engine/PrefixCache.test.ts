import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { InferenceOptions } from '../../../src/inference/index.js';
import { type GenerateEvent, type GenerateRequest, plainSampling, type SamplingOptions } from '../../../src/platform/index.js';
import { LlamaStepBackend } from '../../../src/platform/node/index.js';
import type { AssembledEngine } from '../../../src/shard/index.js';
import { openTestEngine } from './openTestEngine.js';
import { testAdapters } from './testAdapters.js';
import { testModels } from './testModels.js';
import { testPrompts } from './testPrompts.js';

const { passage } = testPrompts;

const deferred = () => {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
};

const greedy: SamplingOptions = { ...plainSampling, tokensMax: 16 };
const sampled: SamplingOptions = { ...greedy, temperature: 0.9, topP: 0.95, seed: 7 };

const request = (content: string, { sampling = greedy, ...overrides }: Partial<GenerateRequest> = {}) =>
  testPrompts.request(content, sampling, overrides);

describe('prefix cache and preemption on SmolLM2-135M (R20)', () => {
  const { signal } = new AbortController();
  const engines: AssembledEngine[] = [];
  /** Keeps no rows of what it has answered. */
  let cold: AssembledEngine;
  beforeAll(() => {
    cold = openTestEngine({ sequences: 4, contextTokens: 1536 }, { prefixTokensMin: 100_000, kvStoreBytesMax: 0 });
  });
  afterAll(() => cold.close(new Error('test is over')));
  afterEach(async () => {
    for (const engine of engines.splice(0)) await engine.close(new Error('test is over'));
  });
  const open = (inference: Partial<InferenceOptions>, sequences = 4) => {
    const engine = openTestEngine({ sequences, contextTokens: 1536 }, inference);
    engines.push(engine);
    return { engine };
  };
  const answer = async (engine: AssembledEngine, asked: GenerateRequest, onText: () => void = () => undefined) => {
    const events: GenerateEvent[] = [];
    for await (const event of engine.generate(asked, signal)) {
      events.push(event);
      if (event.kind === 'text') onText();
    }
    const finished = events.at(-1);
    if (finished?.kind !== 'finished') throw new Error('no end');
    const text = events.map((event) => (event.kind === 'text' ? event.text : '')).join('');
    return { text, cachedTokens: finished.usage.cachedTokens, firstTokenMs: finished.timing.firstTokenMs };
  };
  it('answers from cached rows exactly as from cold ones: greedy, sampled, each adapter and each scale of one by itself', {
    timeout: 240_000,
  }, async () => {
    const warm = open({}).engine;
    const [path, other] = testAdapters();
    const given = [
      { path, scale: 1 },
      { path, scale: 0.5 },
      { path: other, scale: 1 },
    ];
    const load = (engine: AssembledEngine) => Promise.all(given.map((adapter) => engine.loadAdapter(adapter, signal)));
    const adapters = await load(cold);
    await load(warm);
    const [first, second] = ['Who keeps the log?', 'When is it copied?'].map((one) => `${passage.repeat(2)}${one}`) as [string, string];
    const asked = [undefined, ...adapters].flatMap((adapter) =>
      [request(first), request(second), request(first, { sampling: sampled })].map((one) => ({ ...one, ...(adapter && { adapter }) })),
    );
    const cached: number[] = [];
    const texts: string[] = [];
    for (const one of asked) {
      const expected = await answer(cold, one);
      expect(expected.cachedTokens).toBe(0);
      const got = await answer(warm, one);
      expect(got.text).toBe(expected.text);
      texts.push(expected.text);
      cached.push(got.cachedTokens);
    }
    // The first of each adapter is cold: no adapter reuses another's rows.
    for (const [i, tokens] of cached.entries()) expect(tokens > 0).toBe(i % 3 !== 0);
    expect(new Set(texts.filter((_, i) => i % 3 === 0)).size).toBe(4);
    const together = await Promise.all(asked.map((one) => answer(warm, one)));
    expect(together.map(({ text }) => text)).toEqual(texts);
  });

  it('answers the same when it is suspended and goes on from a buffer, and when its rows are lost and computed again', {
    timeout: 240_000,
  }, async () => {
    const asked = [1, 3, 2, 1].map((times, i) =>
      request(`${passage.repeat(times)}What does the office keep?`, {
        sampling: { ...(i % 2 ? sampled : greedy), tokensMax: 20, ignoreEnd: true },
        priority: i < 2 ? 'low' : 'high',
      }),
    );
    const expected: string[] = [];
    for (const one of asked) expected.push((await answer(cold, one)).text);
    for (const kvStoreBytesMax of [268_435_456, 0]) {
      const { engine } = open({ kvStoreBytesMax, prefixTokensMin: 100_000 }, 2);
      const decoding = asked.slice(0, 2).map(() => deferred());
      const low = asked.slice(0, 2).map((one, i) => answer(engine, one, decoding[i]?.resolve));
      await Promise.all(decoding.map(({ promise }) => promise));
      const got = await Promise.all([...low, ...asked.slice(2).map((one) => answer(engine, one))]);
      expect(got.map(({ text }) => text)).toEqual(expected);
      expect(engine.figures().preemptions).toBe(2);
    }
  });

  it('counts bytes a token as the model does, so that pages mean what they say', { timeout: 60_000 }, () => {
    const { chat } = testModels();
    const backend = LlamaStepBackend.open({ model: chat, sequences: 1, contextTokens: 512, threads: 1 });
    const tokens = backend.tokenize(passage.repeat(8), { parseSpecial: false }).slice(0, 256);
    backend.decode([...tokens].map((token, position) => ({ token, position, sequence: 0, wantLogits: false })));
    expect(backend.facts.kvBytesPerToken).toBe(23_040);
    const perToken = backend.exportSequence(0).length / 256;
    expect(perToken / backend.facts.kvBytesPerToken).toBeGreaterThan(0.99);
    expect(perToken / backend.facts.kvBytesPerToken).toBeLessThan(1.01);
    backend.close();
  });
});
