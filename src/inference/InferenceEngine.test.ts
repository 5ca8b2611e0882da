import { afterEach, describe, expect, it } from 'vitest';
import { openToyEngine, type ToyEngine, type ToyEngineOptions } from '../../sim/engine/index.js';
import { withMethods } from '../../test/support/withMethods.js';
import {
  adapterKey,
  type GenerateEvent,
  type GenerateRequest,
  type LoadedAdapter,
  plainSampling,
  platformError,
  type SamplingOptions,
  type StepBackend,
} from '../platform/index.js';
import { NodeRandom, PinoLogger } from '../platform/node/index.js';

const greedy: SamplingOptions = { ...plainSampling, tokensMax: 40 };
const { signal } = new AbortController();

const request = (content: string, overrides: Partial<GenerateRequest> = {}): GenerateRequest => ({
  requestId: content,
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling: greedy,
  priority: 'normal',
  ...overrides,
});

interface Answer {
  readonly text: string;
  readonly events: readonly GenerateEvent[];
}

async function read(events: AsyncIterable<GenerateEvent>): Promise<Answer> {
  const seen: GenerateEvent[] = [];
  for await (const event of events) seen.push(event);
  return { text: seen.map((event) => (event.kind === 'text' ? event.text : '')).join(''), events: seen };
}

/** The backend with one method replaced. */
function intercept<Name extends keyof StepBackend>(backend: StepBackend, replaced: Name, method: StepBackend[Name]): StepBackend {
  return withMethods(backend, { [replaced]: method } as Partial<StepBackend>);
}

describe('InferenceEngine on the toy model', () => {
  let toy: ToyEngine | undefined;
  afterEach(async () => {
    await toy?.engine.close(new Error('test is over'));
    toy = undefined;
  });
  const open = (overrides: Partial<ToyEngineOptions> = {}) => {
    const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });
    const bounds = { sequences: 4, contextTokens: 1024, queueRequestsMax: 32 };
    toy = openToyEngine({ random: new NodeRandom(), logger, script: [], ...bounds, ...overrides });
    return {
      ...toy,
      ask: (asked: GenerateRequest) => read((toy as ToyEngine).engine.generate(asked, new AbortController().signal)),
    };
  };

  it('sends admitted first, then text, then finished with usage and timing', async () => {
    const { ask, engine } = open({ script: [{ question: 'capital', answer: 'It is Norvane.' }] });
    const { text, events } = await ask(request('What is the capital?'));
    expect(text).toBe('It is Norvane.');
    const promptTokens = events[0]?.kind === 'admitted' ? events[0].promptTokens : 0;
    expect(promptTokens).toBeGreaterThan('What is the capital?'.length);
    const finished = events.at(-1);
    expect(finished).toMatchObject({ finishReason: 'stop', usage: { promptTokens, completionTokens: 14, cachedTokens: 0 } });
    expect(finished?.kind === 'finished' && finished.timing.firstTokenMs).toBeGreaterThan(0);
    expect(engine.load()).toMatchObject({ pendingLlmRequests: 0, sequencesBusy: 0, sequencesTotal: 4 });
  });

  it('tells log-probabilities of exactly the tokens whose text it shows', async () => {
    const { ask } = open({ script: [{ question: 'count', answer: 'one two three four' }] });
    const sampling = { ...greedy, logprobsTop: 3, stop: ['e f'] };
    const { text, events } = await ask(request('count', { sampling }));
    expect(text).toBe('one two thre');
    const logprobs = events.flatMap((event) => (event.kind === 'text' ? (event.logprobs ?? []) : []));
    expect(Buffer.from(logprobs.flatMap(({ bytes }) => bytes)).toString()).toBe(text);
    for (const { token, logprob, top } of logprobs) {
      expect(top).toHaveLength(3);
      expect(top[0]).toMatchObject({ token, logprob });
    }
    const { events: without } = await ask(request('count'));
    expect(without.some((event) => event.kind === 'text' && event.logprobs !== undefined)).toBe(false);
  });

  it('refuses tokens that the model does not have (TOKEN_UNKNOWN), and goes on', async () => {
    const { ask } = open({ script: [{ question: 'hi', answer: 'yes' }] });
    for (const wrong of [{ stopTokens: [1_000_000] }, { logitBias: [{ token: -1, bias: 1 }] }])
      await expect(ask(request('hi', { sampling: { ...greedy, ...wrong } }))).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect((await ask(request('hi'))).text).toBe('yes');
  });

  it('gives the same text alone and under load, greedy and sampled (R22)', async () => {
    const { ask } = open();
    const requests = Array.from({ length: 20 }, (_, index) => {
      const sampling = index % 2 === 0 ? greedy : { ...greedy, temperature: 0.8, topP: 0.9, seed: index };
      return request(`question ${index} ${'padding '.repeat(index * 5)}`, { sampling });
    });
    const alone: string[] = [];
    for (const one of requests) alone.push((await ask(one)).text);
    const together = await Promise.all(requests.map(ask));
    expect(together.map(({ text }) => text)).toEqual(alone);
  });

  /** Notes the ids of every decode step, and whether they follow each other. */
  const watchSteps = () => {
    const steps: { readonly size: number; readonly follow: boolean }[] = [];
    const watch = (backend: StepBackend): StepBackend =>
      intercept(backend, 'decode', (rows) => {
        const ids = [...new Set(rows.map(({ sequence }) => sequence))];
        if (rows.every(({ wantLogits }) => wantLogits))
          steps.push({ size: ids.length, follow: ids.every((id, place) => id === (ids[0] as number) + place) });
        backend.decode(rows);
      });
    return { steps, watch };
  };

  it('keeps sequence ids together: a gap that nobody fills is closed before the next step', async () => {
    const { steps, watch } = watchSteps();
    const { ask } = open({ wrap: watch, script: ['aa', 'b', 'ccc'].map((answer) => ({ question: answer, answer: answer.repeat(9) })) });
    const answers = await Promise.all(['ccc', 'b', 'aa', 'ccc'].map((content) => ask(request(content))));
    expect(answers.map(({ text }) => text)).toEqual(['c'.repeat(27), 'b'.repeat(9), 'a'.repeat(18), 'c'.repeat(27)]);
    expect(steps.every(({ follow }) => follow)).toBe(true);
    expect(new Set(steps.map(({ size }) => size))).toEqual(new Set([2, 3, 4]));
  });

  it('keeps the sequences of the base model together where requests of two groups come in turn, so that its step is one pass', async () => {
    const { steps, watch } = watchSteps();
    const { ask, engine } = open({ wrap: watch, script: [{ question: '', answer: 'x'.repeat(24) }] });
    const adapter = await engine.loadAdapter({ path: 'norvane', scale: 1 }, signal);
    await Promise.all([0, 1, 2, 3].map((i) => ask(request(`${i}`, i % 2 === 0 ? {} : { adapter }))));
    expect(steps.some(({ size }) => size === 2)).toBe(true);
    expect(steps.every(({ follow }) => follow)).toBe(true);
  });

  it('ends at tokensMax with "length" and at a stop string with "stop", showing none of it', async () => {
    const { ask } = open({ script: [{ question: 'count', answer: 'one two three four' }] });
    const short = await ask(request('count', { sampling: { ...greedy, tokensMax: 5 } }));
    expect(short.text).toBe('one t');
    expect(short.events.at(-1)).toMatchObject({ finishReason: 'length', usage: { completionTokens: 5 } });
    const stopped = await ask(request('count', { sampling: { ...greedy, stop: ['two t', 'xyz'] } }));
    expect(stopped.text).toBe('one ');
    expect(stopped.events.at(-1)).toMatchObject({ finishReason: 'stop' });
  });

  it('refuses a text that is far too long before it is tokenised, with a number it has at least', async () => {
    let tokenized = 0;
    const watch = (backend: StepBackend): StepBackend =>
      intercept(backend, 'tokenize', (text, options) => {
        tokenized += text.length;
        return backend.tokenize(text, options);
      });
    const { ask, engine } = open({ wrap: watch });
    for (const asked of [request('x'.repeat(5_000_000)), { ...request(''), messages: [], prompt: 'y'.repeat(5_000_000) }])
      await expect(ask(asked)).rejects.toMatchObject({
        code: 'CONTEXT_LENGTH_EXCEEDED',
        data: { promptTokens: 5_000_000, contextTokensMax: 1024 },
      });
    expect(tokenized).toBeLessThan(10_000);
    const embed = { requestId: 'e', model: 'default', texts: ['z'.repeat(200_000)] };
    await expect(engine.embed(embed, signal)).rejects.toMatchObject({ code: 'CONTEXT_LENGTH_EXCEEDED' });
  });

  it('refuses what does not fit with both numbers, what it does not serve, and a full queue', async () => {
    const { ask, engine } = open({ sequences: 1, queueRequestsMax: 1 });
    await expect(ask(request('x'.repeat(1100)))).rejects.toMatchObject({
      code: 'CONTEXT_LENGTH_EXCEEDED',
      data: { tokensMax: 40, contextTokensMax: 1024, promptTokens: expect.any(Number) },
    });
    await expect(ask(request('x'.repeat(970)))).rejects.toMatchObject({ code: 'CONTEXT_LENGTH_EXCEEDED' });
    await expect(ask(request('x', { model: 'other' }))).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    await expect(ask(request('x', { adapter: { digest: 'none', scale: 1 } }))).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
    await expect(ask(request('x', { sampling: { ...greedy, topP: 0 } }))).rejects.toMatchObject({ code: 'INTERNAL' });
    const running = engine.generate(request('runs'), signal)[Symbol.asyncIterator]();
    await running.next();
    const queued = ask(request('waits'));
    await expect(ask(request('too many'))).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    await running.return?.();
    expect((await queued).text).not.toBe('');
  });

  it('frees the sequence within a step when a request is cancelled in the queue, in prefill or while decoding (R19)', async () => {
    const { engine } = open({ sequences: 1 });
    const endless = { ...greedy, tokensMax: 400 };
    const script = async (content: string, stepsBefore: number): Promise<void> => {
      const abort = new AbortController();
      const events = engine.generate(request(content, { sampling: endless }), abort.signal)[Symbol.asyncIterator]();
      for (let step = 0; step < stepsBefore; step++) await events.next();
      const pending = events.next();
      await Promise.resolve();
      expect(engine.figures().cells.held > 0).toBe(stepsBefore > 0);
      abort.abort();
      expect(engine.load()).toMatchObject({ sequencesBusy: 0, pendingLlmRequests: 0 });
      expect(engine.figures().cells.held).toBe(0);
      await expect(pending.then(() => events.next()).then(() => events.next())).rejects.toMatchObject({ code: 'CANCELLED' });
    };
    await script('queued', 0);
    await script('prefilling '.repeat(50), 1);
    await script('decoding', 3);
    const left = engine.generate(request('left'), signal)[Symbol.asyncIterator]();
    await left.next();
    await left.return?.();
    expect(engine.load().sequencesBusy).toBe(0);
    expect(engine.figures().cells.held).toBe(0);
  });

  it('serves adapters chosen per request, and unloads one when its last request has ended (R21)', async () => {
    const { ask, engine } = open();
    const adapter = await engine.loadAdapter({ path: 'norvane', scale: 1 }, signal);
    expect(await engine.loadAdapter({ path: 'norvane', scale: 1 }, signal)).toEqual(adapter);
    const adapted = { adapter };
    const [base, first] = [await ask(request('same')), await ask(request('same', adapted))];
    expect(first.text).not.toBe(base.text);
    const both = await Promise.all([ask(request('same')), ask(request('same', adapted)), ask(request('same'))]);
    expect(both.map(({ text }) => text)).toEqual([base.text, first.text, base.text]);
    const running = engine.generate(request('same', adapted), signal)[Symbol.asyncIterator]();
    await running.next();
    expect(engine.load().activeLoraAdapters).toEqual([adapterKey(adapter)]);
    const unloaded = engine.unloadAdapter(adapter, signal);
    await expect(ask(request('same', adapted))).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
    expect(engine.adapters()).toEqual([]);
    await running.return?.();
    await unloaded;
    await expect(engine.unloadAdapter(adapter, signal)).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
  });

  it('serves several scales of one file at once, each as alone and with no rows of another (R21)', async () => {
    const { ask, engine } = open();
    const load = (scale: number) => engine.loadAdapter({ path: 'norvane', scale }, signal);
    const adapters = [undefined, await load(1), await load(0.5)];
    expect(adapters[2]).toMatchObject({ digest: adapters[1]?.digest, scale: 0.5 });
    const long = `${'Of the harbour and its office. '.repeat(12)}same`;
    const asked = adapters.map((adapter) => request(long, adapter && { adapter }));
    const alone: Answer[] = [];
    for (const one of asked) alone.push(await ask(one));
    expect(new Set(alone.map(({ text }) => text)).size).toBe(3);
    const cachedOf = ({ events }: Answer): number =>
      events.flatMap((one) => (one.kind === 'finished' ? [one.usage.cachedTokens] : []))[0] ?? -1;
    expect(alone.map(cachedOf)).toEqual([0, 0, 0]);
    const together = await Promise.all([...asked, ...asked.toReversed()].map(ask));
    expect(together.map(({ text }) => text)).toEqual([...alone, ...alone.toReversed()].map(({ text }) => text));
    expect(together.every((answer) => cachedOf(answer) > 0)).toBe(true);
  });

  it('unloads one scale while another of the same file runs, and frees the file with the last one', async () => {
    const freed: string[] = [];
    const wrap = (backend: StepBackend): StepBackend =>
      intercept(backend, 'unloadAdapter', (digest: string) => {
        freed.push(digest);
        backend.unloadAdapter(digest);
      });
    const { ask, engine } = open({ wrap });
    const [whole, half] = [1, 0.5].map((scale) => engine.loadAdapter({ path: 'norvane', scale }, signal));
    const adapters = (await Promise.all([whole, half])) as [LoadedAdapter, LoadedAdapter];
    const running = ask(request('same', { adapter: adapters[0] }));
    await engine.unloadAdapter(adapters[1], signal);
    expect([engine.adapters(), freed]).toEqual([[adapters[0]], []]);
    await expect(ask(request('same', { adapter: adapters[1] }))).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
    expect((await running).text).not.toBe('');
    const gone = engine.unloadAdapter(adapters[0], signal);
    const again = engine.loadAdapter({ path: 'norvane', scale: 0.25 }, signal); // in the moment between
    await gone;
    expect(freed).toEqual([]);
    await engine.unloadAdapter(await again, signal);
    expect(freed).toEqual([adapters[0].digest]);
  });

  it('fails the requests of a failed step and serves the next', async () => {
    let failing = true;
    const wrap = (backend: StepBackend): StepBackend =>
      intercept(backend, 'decode', (rows) => {
        if (failing) throw platformError('ENGINE_STEP_FAILED', 'no memory');
        backend.decode(rows);
      });
    const { ask, engine } = open({ wrap });
    await expect(ask(request('x'))).rejects.toMatchObject({ code: 'ENGINE_STEP_FAILED', retryable: true });
    expect(engine.load().sequencesBusy).toBe(0);
    failing = false;
    expect((await ask(request('x'))).text).not.toBe('');
  });

  it('says every second that a request without text makes progress', async () => {
    const { ask } = open();
    const held = await ask(request('x', { sampling: { ...greedy, tokensMax: 300, stop: [], temperature: 0 } }));
    expect(held.events.filter(({ kind }) => kind === 'progress')).toHaveLength(0);
    const { ask: askSlow } = open({ script: [{ question: 'x', answer: 'a'.repeat(400) }], inference: { draftTokensMax: 0 } });
    const slow = await askSlow(request('x', { sampling: { ...greedy, tokensMax: 400, stop: [`${'a'.repeat(399)}b`] } }));
    expect(slow.events.filter(({ kind }) => kind === 'progress').length).toBeGreaterThanOrEqual(3);
    expect(slow.text).toBe('a'.repeat(400));
  });

  it('embeds beside generation: order kept, one pack a cycle, too long texts refused whole', async () => {
    const { ask, engine } = open();
    const texts = Array.from({ length: 50 }, (_, index) => `text number ${index} ${'word '.repeat(index)}`);
    const alone = await engine.embed({ requestId: 'one', model: 'default', texts: [texts[7] as string] }, signal);
    const [{ vectors }] = await Promise.all([engine.embed({ requestId: 'all', model: 'default', texts }, signal), ask(request('beside'))]);
    expect(vectors).toHaveLength(50);
    expect(vectors[7]).toEqual(alone.vectors[0]);
    const long = { requestId: 'long', model: 'default', texts: ['short', 'word '.repeat(300)] };
    await expect(engine.embed(long, signal)).rejects.toMatchObject({
      code: 'CONTEXT_LENGTH_EXCEEDED',
      data: { promptTokens: 302, contextTokensMax: 256 },
    });
    const abort = new AbortController();
    const aborted = engine.embed({ requestId: 'all', model: 'default', texts }, abort.signal);
    abort.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('reports its load (R19), counts tokens, and fails what is in flight on close', async () => {
    const { engine } = open();
    const tokens = await engine.tokenize('default', '<|im_end|>', signal);
    expect(tokens).toHaveLength(10);
    expect(await engine.detokenize('default', tokens, signal)).toBe('<|im_end|>');
    await expect(engine.detokenize('default', [1_000_000], signal)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect(await engine.tokenize('toy-embedding', 'two words', signal)).toHaveLength(4);
    const running = read(engine.generate(request('x'), signal));
    const failing = expect(running).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(engine.load()).toMatchObject({ pendingLlmRequests: 1, sequencesBusy: 1 });
    await engine.close(platformError('ENGINE_LOST', 'closed'));
    await failing;
    expect(engine.load()).toMatchObject({ pendingLlmRequests: 0, sequencesBusy: 0 });
    await expect(engine.tokenize('default', 'x', signal)).rejects.toMatchObject({ code: 'ENGINE_LOST' });
  });
});
