import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GenerateEvent, type GenerateRequest, type ModelService, plainSampling, type SamplingOptions } from '../index.js';

export interface ModelServiceSubject {
  readonly name: string;
  readonly open: () => Promise<{ readonly service: ModelService; readonly close: () => Promise<void> }>;
}

const { signal } = new AbortController();
const aborted = AbortSignal.abort();

const request = (content: string, sampling: Partial<SamplingOptions> = {}, overrides: Partial<GenerateRequest> = {}): GenerateRequest => ({
  requestId: content.slice(0, 20),
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling: { ...plainSampling, tokensMax: 24, ...sampling },
  priority: 'normal',
  ...overrides,
});

const read = async (events: AsyncIterable<GenerateEvent>): Promise<readonly GenerateEvent[]> => {
  const seen: GenerateEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
};
const textOf = (events: readonly GenerateEvent[]): string => events.map((event) => (event.kind === 'text' ? event.text : '')).join('');

/** What every ModelService keeps, whatever runs the model (R18). */
export function modelServiceConformance({ name, open }: ModelServiceSubject): void {
  describe(`ModelService: ${name}`, () => {
    let service: ModelService;
    let close: () => Promise<void> = async () => undefined;
    beforeAll(async () => {
      ({ service, close } = await open());
    });
    afterAll(() => close());
    const generate = (...given: Parameters<typeof request>) => read(service.generate(request(...given), signal));

    it('names a chat model', () => {
      expect(service.models()).toContainEqual(expect.objectContaining({ kind: 'chat', digest: expect.stringMatching(/^[0-9a-f]{64}$/) }));
    });

    it('admits, writes, and finishes exactly once, with the usage', async () => {
      const events = await generate('What is 17 times 3?');
      expect(events[0]?.kind).toBe('admitted');
      expect(events.filter(({ kind }) => kind === 'finished')).toHaveLength(1);
      const last = events.at(-1);
      expect(last).toMatchObject({ kind: 'finished', usage: { promptTokens: expect.any(Number) } });
      expect(last?.kind === 'finished' ? last.usage.completionTokens : 0).toBeGreaterThan(0);
      expect(textOf(events)).not.toBe('');
    });

    it('answers by the model’s own name as by default, greedily the same alone', async () => {
      const [chat] = service.models();
      const own = await generate('What is 17 times 3?', {}, { model: chat?.name as string });
      expect(textOf(own)).toBe(textOf(await generate('What is 17 times 3?')));
    });

    it('ends at the tokens that were asked for', async () => {
      const last = (await generate('Tell a long story', { tokensMax: 3, ignoreEnd: true })).at(-1);
      expect(last).toMatchObject({ kind: 'finished', finishReason: 'length', usage: { completionTokens: 3 } });
    });

    it('emits nothing of a stop string, nor of what follows it', async () => {
      const whole = textOf(await generate('Tell a long story'));
      const stop = [...whole].slice(3, 6).join('');
      const events = await generate('Tell a long story', { stop: [stop] });
      expect(textOf(events)).toBe(whole.slice(0, whole.indexOf(stop)));
      expect(events.at(-1)).toMatchObject({ kind: 'finished', finishReason: 'stop' });
    });

    it('an abort ends a running request as CANCELLED, and the next one is served', async () => {
      const stopping = new AbortController();
      const running = (async () => {
        for await (const event of service.generate(request('Tell a long story', { tokensMax: 200, ignoreEnd: true }), stopping.signal))
          if (event.kind === 'text') stopping.abort();
      })();
      await expect(running).rejects.toMatchObject({ code: 'CANCELLED' });
      expect((await generate('What is 17 times 3?')).at(-1)?.kind).toBe('finished');
    });

    it('does not begin what is cancelled already', async () => {
      await expect(read(service.generate(request('x'), aborted))).rejects.toMatchObject({ code: 'CANCELLED' });
      await expect(service.embed({ requestId: 'e', model: 'default', texts: ['x'] }, aborted)).rejects.toMatchObject({ code: 'CANCELLED' });
    });

    it('knows no other models and no adapters that were not loaded', async () => {
      const unknown = { digest: 'f'.repeat(64), scale: 1 };
      await expect(generate('x', {}, { model: 'no-such-model' })).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
      await expect(generate('x', {}, { adapter: unknown })).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
      await expect(service.unloadAdapter(unknown, signal)).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
      expect(service.adapters()).toEqual([]);
    });

    it('takes no adapters where it declares that it takes none', async () => {
      if (service.abilities.adapters) return;
      const loading = service.loadAdapter({ path: '/an/adapter.gguf', scale: 1 }, signal);
      await expect(loading).rejects.toMatchObject({ code: 'ENGINE_ABILITY_MISSING' });
    });

    it('refuses a prompt that is longer than the context', async () => {
      await expect(generate('word '.repeat(20_000))).rejects.toMatchObject({ code: 'CONTEXT_LENGTH_EXCEEDED', retryable: false });
    });

    it('embeds texts in their order, each of unit length, or says that it has no embedding model where it names none', async () => {
      if (!service.models().some(({ kind }) => kind === 'embedding')) {
        const asked = service.embed({ requestId: 'e', model: 'default', texts: ['x'] }, signal);
        return expect(asked).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
      }
      const embed = async (...texts: string[]) => (await service.embed({ requestId: 'e', model: 'default', texts }, signal)).vectors;
      const [one, two] = await embed('a red fox', 'the law of contracts');
      const [alone] = await embed('the law of contracts');
      for (const vector of [one, two, alone]) expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 3);
      const cosine = (two ?? []).reduce((sum, value, i) => sum + value * (alone?.[i] ?? 0), 0);
      expect(cosine).toBeGreaterThan(0.999);
    });

    it('gives the rows of an ended prompt piece by piece, takes them, and refuses those of another kind, or has none at all (R27)', async () => {
      const { prefixes } = service;
      const unknown = { digest: '0'.repeat(16), offset: 0, bytesMax: 100_000 };
      await expect(prefixes.readPrefix(unknown, signal)).rejects.toMatchObject({ code: 'KV_PREFIX_UNKNOWN' });
      const asked = request('7391046285'.repeat(30), { tokensMax: 2 }); // a token a digit, whatever the model
      await read(service.generate(asked, signal));
      const lookup = await prefixes.prefixOf(asked, signal);
      expect(lookup !== undefined).toBe(service.abilities.prefixes);
      if (lookup === undefined) return;
      expect(lookup.heldTokens).toBe(lookup.promptTokens - 64);
      expect(lookup.digests).toHaveLength(Math.floor((lookup.promptTokens - 64) / 64));
      const digest = lookup.digests.at(-1) as string;
      let part = await prefixes.readPrefix({ digest, offset: 0, bytesMax: 100_000 }, signal);
      const { header } = part;
      expect(header.tokens.length).toBe(lookup.promptTokens);
      const strange = { ...part, header: { ...header, facts: { ...header.facts, model: 'another' } } };
      await expect(prefixes.writePrefix(strange, signal)).rejects.toMatchObject({ code: 'KV_PREFIX_MISMATCH', data: { field: 'model' } });
      let arrival = await prefixes.writePrefix(part, signal);
      while (!arrival.isWhole) {
        part = await prefixes.readPrefix({ digest, offset: arrival.receivedBytes, bytesMax: 1_000_000 }, signal);
        arrival = await prefixes.writePrefix(part, signal);
      }
      expect(arrival.receivedBytes).toBe(header.stateBytes);
      await expect(prefixes.writePrefix({ ...part, offset: 7 }, signal)).rejects.toMatchObject({ code: 'KV_PREFIX_DAMAGED' });
    });

    it('takes a text apart into tokens and puts it together again', async () => {
      const tokens = await service.tokenize('default', 'one two three', signal);
      expect(tokens.length).toBeGreaterThan(0);
      expect(await service.detokenize('default', tokens, signal)).toBe('one two three');
    });
  });
}
