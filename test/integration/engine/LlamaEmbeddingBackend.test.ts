import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LlamaEmbeddingBackend } from '../../../src/platform/node/index.js';
import { testModels } from './testModels.js';

const cosine = (left: Float32Array, right: Float32Array): number =>
  left.reduce((sum, value, place) => sum + value * (right[place] as number), 0);

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

  it('gives unit vectors that are near for texts of one topic', () => {
    const [office, ships, leaves] = topics.map(alone) as [Float32Array, Float32Array, Float32Array];
    expect(office).toHaveLength(backend.facts.dimensions);
    expect(cosine(office, office)).toBeCloseTo(1, 6);
    expect(cosine(office, ships)).toBeGreaterThan(cosine(office, leaves) + 0.3);
  });

  it('gives the same vector alone and in a pack, up to 1e-6 cosine distance (R23)', () => {
    const texts = [...topics, 'of like words and other lengths '.repeat(3), 'one more'];
    const packed = backend.embed(texts.slice(0, 9).map((text) => backend.tokenize(text)));
    for (const [place, vector] of packed.entries()) {
      expect(1 - cosine(vector, alone(texts[place] as string)), texts[place] as string).toBeLessThanOrEqual(1e-6);
    }
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
