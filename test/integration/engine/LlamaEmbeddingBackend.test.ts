import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openToyEngine, type ToyEngine } from '../../../sim/engine/index.js';
import { LlamaEmbeddingBackend } from '../../../src/platform/node/index.js';
import { CountingRandom, EventLog } from '../../support/silentPorts.js';
import { testModels } from './testModels.js';

const dot = (left: Float32Array, right: Float32Array): number =>
  left.reduce((sum, value, place) => sum + value * (right[place] as number), 0);
const cosine = (left: Float32Array, right: Float32Array): number => dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));

const topics = [
  'The harbour office opens at seven in the morning.',
  'Ships enter the port at dawn when the office opens.',
  'Photosynthesis turns light into chemical energy in leaves.',
  'Der Hafenmeister schreibt sein Protokoll auf Deutsch – über Ebbe und Flut.',
  'SELECT name FROM crew WHERE rank = "captain";',
  'ok',
  '港の事務所は朝七時に開きます。',
];

describe('LlamaEmbeddingBackend: all-MiniLM-L6-v2', () => {
  let backend: LlamaEmbeddingBackend;
  beforeAll(() => {
    backend = LlamaEmbeddingBackend.open({ model: testModels().embedding, threads: 1 });
  });
  afterAll(() => backend.close());

  const alone = (text: string): Float32Array => backend.embed([backend.tokenize(text)])[0] as Float32Array;

  it('gives vectors that are near for texts of one topic', () => {
    const [office, ships, leaves] = topics.map(alone) as [Float32Array, Float32Array, Float32Array];
    expect(office).toHaveLength(backend.facts.dimensions);
    expect(cosine(office, office)).toBeCloseTo(1, 6);
    expect(cosine(office, ships)).toBeGreaterThan(cosine(office, leaves) + 0.3);
  });

  it('gives the same vector alone and in any pack of mixed lengths, up to 1e-6 cosine distance (R23)', { timeout: 60_000 }, () => {
    const known = topics.map(alone);
    const pick = fc.record({ topic: fc.nat({ max: topics.length - 1 }), words: fc.constantFrom(0, 0, 5, 30, 60, 90) });
    fc.assert(
      fc.property(fc.array(pick, { minLength: 2, maxLength: 10 }), (picks) => {
        const fillers = picks.map(({ words }) => (words === 0 ? undefined : 'of like words '.repeat(words / 3)));
        const texts = picks.map(({ topic }, i) => backend.tokenize(fillers[i] ?? (topics[topic] as string)));
        const kept = texts.filter((_, i) => texts.slice(0, i + 1).reduce((rows, { length }) => rows + length, 0) <= 128);
        for (const [i, vector] of backend.embed(kept).entries()) {
          const expected = fillers[i] === undefined ? known[(picks[i] as { topic: number }).topic] : alone(fillers[i] as string);
          expect(1 - cosine(vector, expected as Float32Array)).toBeLessThanOrEqual(1e-6);
        }
      }),
      { numRuns: 12 },
    );
  });

  it('agrees with itself over lengths on both sides of the flash-attention border', () => {
    for (const words of [2, 20, 45, 58, 62, 70, 110]) {
      const text = 'harbour '.repeat(words);
      const tokens = backend.tokenize(text);
      const filler = backend.tokenize('filler words');
      const packed = tokens.length + filler.length <= backend.facts.packTokensMax ? backend.embed([filler, tokens])[1] : undefined;
      if (packed !== undefined) expect(1 - cosine(packed, alone(text)), `${words} words`).toBeLessThanOrEqual(1e-6);
    }
  });

  it('takes a text as long as the model, and refuses what would end the process', () => {
    const longest = new Int32Array(backend.facts.textTokensMax).fill(2003);
    expect(backend.embed([longest])).toHaveLength(1);
    const internal = expect.objectContaining({ code: 'INTERNAL' });
    expect(() => backend.embed([new Int32Array(backend.facts.textTokensMax + 1).fill(2003)])).toThrow(internal);
    expect(() => backend.embed([longest, longest])).toThrow(internal);
    expect(() => backend.embed([Int32Array.of(101, -5, 102)])).toThrow(internal);
    expect(() => backend.embed([Int32Array.of(101, 1_000_000, 102)])).toThrow(internal);
    expect(() => backend.embed([new Int32Array(0)])).toThrow(internal);
    expect(() => backend.embed([])).toThrow(internal);
  });

  it('embeds an empty text, and takes control texts as text', () => {
    expect(alone('')).toHaveLength(backend.facts.dimensions);
    expect(Array.from(backend.tokenize('[SEP]')).filter((token) => token === 102)).toHaveLength(1);
  });
});

describe('LlamaEmbeddingBackend: a chat model that embeds, texts beyond 512 tokens (R23)', () => {
  let backend: LlamaEmbeddingBackend;
  let engine: ToyEngine['engine'];
  const textTokensMax = 800;
  beforeAll(() => {
    backend = LlamaEmbeddingBackend.open({ model: { ...testModels().chat, pooling: 'mean', textTokensMax }, threads: 1 });
    const bounds = { sequences: 1, contextTokens: 64, queueRequestsMax: 4, script: [] };
    ({ engine } = openToyEngine({ ...bounds, random: new CountingRandom(), logger: new EventLog(), embeddingBackend: backend }));
  });
  afterAll(() => engine.close(new Error('over')));

  const { signal } = new AbortController();
  const embed = async (texts: readonly string[]) => {
    const { vectors } = await engine.embed({ requestId: 'e', model: 'default', texts }, signal);
    return vectors.map((vector) => Float32Array.from(vector));
  };
  const numbers = (count: number): string => Array.from({ length: count }, (_, i) => `Ship ${i} lies in bay ${(i * 7) % 10}.`).join(' ');
  const long = numbers(72);

  it('gives the same vector alone and among others', { timeout: 60_000 }, async () => {
    expect(backend.facts).toMatchObject({ textTokensMax, passTokensMax: 128 });
    const { length } = backend.tokenize(long);
    expect(length > 700 && length <= textTokensMax, String(length)).toBe(true);
    const [alone] = (await embed([long])) as [Float32Array];
    const [short] = (await embed([topics[1] as string])) as [Float32Array];
    const among = (await embed([topics[0] as string, long, topics[1] as string, topics[2] as string])) as Float32Array[];
    expect(1 - cosine(among[1] as Float32Array, alone)).toBeLessThanOrEqual(1e-6);
    expect(1 - cosine(among[2] as Float32Array, short)).toBeLessThanOrEqual(1e-6);
    expect(cosine(short, alone)).toBeLessThan(0.999); // no two texts are one
  });

  it('reads in pieces what one pass gives', () => {
    const tokens = backend.tokenize(numbers(11));
    expect(tokens.length > 100 && tokens.length <= 128, String(tokens.length)).toBe(true);
    const [whole] = backend.embed([tokens]) as [Float32Array];
    expect(backend.readPiece(tokens, { from: 0, to: 64 })).toBeUndefined();
    expect(1 - cosine(backend.readPiece(tokens, { from: 64, to: tokens.length }) as Float32Array, whole)).toBeLessThanOrEqual(1e-6);
  });

  it('refuses a text that is too long with both lengths', async () => {
    await expect(embed([numbers(200)])).rejects.toMatchObject({
      code: 'CONTEXT_LENGTH_EXCEEDED',
      data: { index: 0, contextTokensMax: textTokensMax },
    });
  });
});
