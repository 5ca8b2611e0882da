import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LlamaEmbeddingBackend } from '../../../src/platform/node/index.js';
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
