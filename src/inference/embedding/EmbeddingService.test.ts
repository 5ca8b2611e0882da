import { afterEach, describe, expect, it } from 'vitest';
import { openToyEngine, ToyEmbeddingBackend, type ToyEngine } from '../../../sim/engine/index.js';
import { CountingRandom, EventLog } from '../../../test/support/silentPorts.js';
import { type EmbedRequest, type GenerateEvent, type GenerateRequest, plainSampling, type RerankRequest } from '../../platform/index.js';
import type { InferenceOptions } from '../options.js';

const { signal } = new AbortController();
const opened: ToyEngine[] = [];
afterEach(async () => {
  for (const { engine } of opened.splice(0)) await engine.close(new Error('over'));
});

const open = (backend = new ToyEmbeddingBackend(), inference: Partial<InferenceOptions> = {}) => {
  const bounds = { sequences: 1, contextTokens: 64, queueRequestsMax: 4, script: [{ question: 'hello', answer: 'good day' }] };
  const toy = openToyEngine({ ...bounds, random: new CountingRandom(), logger: new EventLog(), embeddingBackend: backend, inference });
  opened.push(toy);
  return {
    engine: toy.engine,
    embed: (request: Partial<EmbedRequest>) => toy.engine.embed({ requestId: 'e', model: 'default', texts: [], ...request }, signal),
    rerank: (request: Partial<RerankRequest>) =>
      toy.engine.rerank({ requestId: 'r', model: 'default', query: 'a b', documents: [], method: 'crossEncoder', ...request }, signal),
  };
};
const long = 'word '.repeat(300);
const chatRequest: GenerateRequest = {
  requestId: 'c',
  model: 'default',
  messages: [{ role: 'user', content: 'hello' }],
  sampling: { ...plainSampling, tokensMax: 8 },
  priority: 'normal',
};
const read = async (events: AsyncIterable<GenerateEvent>): Promise<void> => {
  for await (const { kind } of events) if (kind === 'finished') return;
};
/** Lets the engine go on a little. */
const passed = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const crossEncoder = () => new ToyEmbeddingBackend({ gives: 'score' });

describe('EmbeddingService: vectors (R23)', () => {
  it('refuses a text that is too long, or cuts it where that is allowed and says by how much', async () => {
    const { embed } = open();
    await expect(embed({ texts: ['short', long] })).rejects.toMatchObject({
      code: 'CONTEXT_LENGTH_EXCEEDED',
      data: { index: 1, promptTokens: 302, contextTokensMax: 256 },
    });
    const cut = await embed({ texts: ['short', long], truncate: true });
    expect(cut).toMatchObject({ promptTokens: 3 + 256, tokensLeftOut: [0, 46] });
    expect(cut.vectors[1]).toEqual((await embed({ texts: ['word '.repeat(254)] })).vectors[0]);
    expect(await embed({ texts: ['short'], truncate: true })).not.toHaveProperty('tokensLeftOut');
  });

  it('takes texts as tokens, checks each, and bounds them like texts', async () => {
    const { engine, embed } = open();
    const tokens = await engine.tokenize('toy-embedding', 'two words', signal);
    expect((await embed({ tokens: [tokens] })).vectors).toEqual((await embed({ texts: ['two words'] })).vectors);
    for (const wrong of [-1, 1.5, 2 ** 31]) {
      await expect(embed({ tokens: [[1, 2], [wrong]] })).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN', data: { token: wrong } });
    }
    const many = new Array<number>(300).fill(7);
    await expect(embed({ tokens: [many] })).rejects.toMatchObject({ code: 'CONTEXT_LENGTH_EXCEEDED', data: { promptTokens: 300 } });
    expect(await embed({ tokens: [many], truncate: true })).toMatchObject({ promptTokens: 256, tokensLeftOut: [44] });
  });

  it('cuts vectors to lengths that the model or the operator names, and to no other', async () => {
    const { embed } = open(new ToyEmbeddingBackend({ dimensionsShorter: [16] }));
    const [whole, cut] = [await embed({ texts: ['a'] }), await embed({ texts: ['a'], dimensions: 16 })];
    expect(Math.hypot(...(cut.vectors[0] as number[]))).toBeCloseTo(1, 6);
    const scale = (whole.vectors[0]?.[0] as number) / (cut.vectors[0]?.[0] as number);
    expect(cut.vectors[0]?.map((value) => value * scale)).toEqual(whole.vectors[0]?.slice(0, 16).map((value) => expect.closeTo(value, 6)));
    expect((await embed({ texts: ['a'], dimensions: 64 })).vectors).toEqual(whole.vectors);
    for (const dimensions of [1, 15, 65])
      await expect(embed({ texts: ['a'], dimensions })).rejects.toMatchObject({ code: 'DIMENSIONS_NOT_SUPPORTED' });
    await expect(open().embed({ texts: ['a'], dimensions: 16 })).rejects.toMatchObject({ code: 'DIMENSIONS_NOT_SUPPORTED' });
  });

  it('gives vectors of unit length unless told otherwise', async () => {
    const raw = new ToyEmbeddingBackend();
    const unit = raw.embed.bind(raw);
    raw.embed = (texts) => unit(texts).map((vector) => vector.map((value) => 3 * value));
    const { embed } = open(raw);
    expect(Math.hypot(...((await embed({ texts: ['a'] })).vectors[0] as number[]))).toBeCloseTo(1, 6);
    expect(Math.hypot(...((await embed({ texts: ['a'], normalize: false })).vectors[0] as number[]))).toBeCloseTo(3, 5);
  });

  it('lets the engine work between the parts of a long request, and ends in its middle with the engine', async () => {
    const { engine, embed } = open();
    const large = embed({ texts: new Array<string>(20).fill('x'.repeat(50_000)) });
    const failing = expect(large).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    await engine.close(new Error('over'));
    await failing;
  });
});

describe('EmbeddingService: a large request among others (R23)', () => {
  const large = Array.from({ length: 300 }, (_, i) => `${i} ${'word '.repeat(250)}`);
  const openWatched = () => {
    const backend = new ToyEmbeddingBackend();
    const passes: number[] = [];
    const [embed, readPiece] = [backend.embed.bind(backend), backend.readPiece.bind(backend)];
    const count = (tokens: number): void => {
      passes.push(tokens);
    };
    backend.embed = (texts) => {
      count(texts.reduce((total, text) => total + text.length, 0));
      return embed(texts);
    };
    backend.readPiece = (text, piece) => {
      count(piece.to - piece.from);
      return readPiece(text, piece);
    };
    return { ...open(backend), passes };
  };

  it('does not hold up a short text, nor a chat: both are answered between its passes, and it is answered whole', async () => {
    const { engine, embed, passes } = openWatched();
    const order: string[] = [];
    const ended = <Value>(name: string, work: Promise<Value>): Promise<Value> => work.finally(() => order.push(name));
    const whole = ended('large', embed({ texts: large }));
    while (passes.length < 10) await passed();
    const short = ended('short', embed({ texts: ['a b'] }));
    const chat = ended('chat', read(engine.generate(chatRequest, signal)));
    await Promise.all([short, chat]);
    expect(passes.length).toBeLessThan(100); // of 600
    expect((await whole).vectors).toHaveLength(300);
    expect(order.at(-1)).toBe('large');
    expect((await whole).vectors[299]).toEqual((await embed({ texts: [large[299] as string] })).vectors[0]);
  });

  it('that its caller gives up ends at once: none of its texts is read any more, nor the rest of one', async () => {
    const { engine, embed, passes } = openWatched();
    const leaving = new AbortController();
    const whole = engine.embed({ requestId: 'e', model: 'default', texts: large }, leaving.signal);
    while (passes.length < 11) await passed(); // in the middle of a text
    leaving.abort();
    await expect(whole).rejects.toMatchObject({ code: 'CANCELLED' });
    const before = passes.length;
    await embed({ texts: ['a b'] });
    expect(passes.length).toBe(before + 1);
  });
});

describe('EmbeddingService: scores (RERANK of R14)', () => {
  it('scores every document with the query, in their order, between 0 and 1', async () => {
    const { rerank } = open(crossEncoder());
    const { scores, promptTokens } = await rerank({ documents: ['x y', 'b a', 'a x'] });
    expect(scores.map((score) => Math.round(score * 100))).toEqual([27, 73, 50]);
    expect(promptTokens).toBe(3 * 7);
    expect(await rerank({ documents: [] })).toEqual({ scores: [], promptTokens: 0 });
  });

  it('cuts a document only where that is allowed; a query that leaves no room is refused in any case', async () => {
    const { rerank } = open(crossEncoder());
    const tooLong = { code: 'CONTEXT_LENGTH_EXCEEDED' };
    await expect(rerank({ documents: ['a', long] })).rejects.toMatchObject({ ...tooLong, data: { index: 1, promptTokens: 305 } });
    expect(await rerank({ documents: ['a', long], truncate: true })).toMatchObject({ promptTokens: 6 + 256, tokensLeftOut: [0, 49] });
    await expect(rerank({ query: long, documents: ['a'], truncate: true })).rejects.toMatchObject(tooLong);
    await expect(rerank({ documents: ['z'.repeat(200_000)], truncate: true })).rejects.toMatchObject(tooLong);
  });

  it('ranks by vectors only where that is asked for by name: a model of the other kind says what it is', async () => {
    const { rerank } = open();
    const documents = ['x y', 'a b', 'a x'];
    await expect(rerank({ documents })).rejects.toMatchObject({ code: 'MODEL_KIND_WRONG', httpStatus: 400 });
    const { scores } = await rerank({ documents, method: 'embedding' });
    expect(scores[1]).toBeCloseTo(1, 6);
    expect(scores[2]).toBeGreaterThan(scores[0] as number);
    const other = open(crossEncoder());
    await expect(other.rerank({ documents, method: 'embedding' })).rejects.toMatchObject({ code: 'MODEL_KIND_WRONG' });
    await expect(other.embed({ texts: ['a'] })).rejects.toMatchObject({ code: 'MODEL_KIND_WRONG' });
    expect(other.engine.models()[1]).toMatchObject({ kind: 'embedding', crossEncoder: true });
  });
});
