import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openToyEngine } from '../../../sim/engine/index.js';
import { gguf } from '../../../src/models/index.js';
import { LlamaEmbeddingBackend } from '../../../src/platform/node/index.js';
import { CountingRandom, EventLog } from '../../support/silentPorts.js';
import { tinyBertMarks, tinyBertWords, writeTinyBert } from '../../support/tinyBert.js';
import { writeTinyLlama } from '../../support/tinyLlama.js';

const folder = mkdtempSync(join(tmpdir(), 'ostraka-tiny-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bounds = { sequences: 1, contextTokens: 64, queueRequestsMax: 4, script: [] };
const engineWith = (embeddingBackend: LlamaEmbeddingBackend) =>
  openToyEngine({ ...bounds, random: new CountingRandom(), logger: new EventLog(), embeddingBackend });
const { signal } = new AbortController();

const distance = (left: ArrayLike<number>, right: ArrayLike<number>): number => {
  const dot = (a: ArrayLike<number>, b: ArrayLike<number>) => Array.from(a).reduce((sum, value, i) => sum + value * (b[i] as number), 0);
  return 1 - dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
};
const { begin, end } = tinyBertMarks;
const idsOf = (text: string): number[] =>
  text
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => tinyBertWords.indexOf(word) + 5);
const mean = (rows: readonly (readonly number[])[]): number[] =>
  (rows[0] as number[]).map((_, i) => rows.reduce((sum, row) => sum + (row[i] as number), 0) / rows.length);
/** Of so many words that no two of its parts are alike. */
const longText = (count: number): string =>
  Array.from({ length: count }, (_, i) => tinyBertWords[(i * i + (i >> 3)) % tinyBertWords.length]).join(' ');
const textOf = (minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom(...tinyBertWords), { minLength, maxLength }).map((list) => list.join(' '));

describe('an encoder of known weights', () => {
  it('pools as its file says, or as was asked (R23)', () => {
    const tokens = [begin, ...idsOf('the ship in the bay'), end];
    const expected = (rows: readonly (readonly number[])[]) => ({ 1: mean(rows), 2: rows[0], 3: rows.at(-1) });
    for (const stated of [1, 2, 3] as const) {
      const model = writeTinyBert(join(folder, `bert-${stated}.gguf`), { poolingType: stated });
      const open = (pooling?: 'mean' | 'cls' | 'last') => LlamaEmbeddingBackend.open({ model: { ...model, pooling }, threads: 1 });
      for (const [asked, is] of [[undefined, stated] as const, ['mean', 1] as const, ['cls', 2] as const, ['last', 3] as const]) {
        const backend = open(asked);
        expect(Array.from(backend.tokenize('the ship in the bay'))).toEqual(tokens);
        const [vector] = backend.embed([Int32Array.from(tokens)]) as [Float32Array];
        expect(distance(vector, expected(model.rows(tokens))[is] as number[]), `${stated} ${asked}`).toBeLessThan(1e-5);
        backend.close();
      }
    }
  });

  it('is cut to the lengths that its file names, and to no other (Matryoshka)', async () => {
    const lengths = gguf.metadata.i32s('bert.matryoshka_dimensions', Int32Array.of(8, 16));
    const model = writeTinyBert(join(folder, 'cut.gguf'), { poolingType: 1, metadata: [lengths] });
    const { engine } = engineWith(LlamaEmbeddingBackend.open({ model, threads: 1 }));
    const ask = (dimensions: number) => engine.embed({ requestId: 'e', model: 'default', texts: ['sea'], dimensions }, signal);
    const whole = (await ask(32)).vectors[0] as number[];
    const cut = (await ask(8)).vectors[0] as number[];
    expect(cut).toHaveLength(8);
    expect(Math.hypot(...cut)).toBeCloseTo(1, 6);
    expect(distance(cut, whole.slice(0, 8))).toBeLessThan(1e-6);
    await expect(ask(12)).rejects.toMatchObject({ code: 'DIMENSIONS_NOT_SUPPORTED', data: { param: 'dimensions' } });
    await engine.close(new Error('over'));
  });

  it('reads texts beyond 512 tokens whole, where it was trained for them and is allowed to', { timeout: 60_000 }, async () => {
    const model = writeTinyBert(join(folder, 'long.gguf'), { poolingType: 1, positions: 700 });
    const { engine } = engineWith(LlamaEmbeddingBackend.open({ model: { ...model, textTokensMax: 2048 }, threads: 1 }));
    const ask = (texts: readonly string[], truncate = false) =>
      engine.embed({ requestId: 'e', model: 'default', texts, truncate, normalize: false }, signal);
    const text = longText(650);
    const [alone, among] = [await ask([text]), await ask(['sea', text, 'ship', text])];
    const expected = mean(model.rows([begin, ...idsOf(text), end]));
    expect(distance(alone.vectors[0] as number[], expected)).toBeLessThan(1e-5);
    for (const place of [1, 3]) expect(distance(among.vectors[place] as number[], alone.vectors[0] as number[])).toBeLessThanOrEqual(1e-6);
    await expect(ask([longText(700)])).rejects.toMatchObject({ code: 'CONTEXT_LENGTH_EXCEEDED', data: { contextTokensMax: 700 } });
    expect(await ask([longText(710)], true)).toMatchObject({ promptTokens: 700, tokensLeftOut: [12] });
    await engine.close(new Error('over'));
    const narrow = LlamaEmbeddingBackend.open({ model, threads: 1 });
    expect(narrow.facts).toMatchObject({ textTokensMax: 512, passTokensMax: 512 });
    narrow.close();
  });

  it('that sorts texts into classes is no cross-encoder', () => {
    const model = writeTinyBert(join(folder, 'classes.gguf'), { poolingType: 4, classes: ['a', 'b', 'c'] });
    expect(() => LlamaEmbeddingBackend.open({ model, threads: 1 })).toThrow(expect.objectContaining({ code: 'MODEL_INVALID' }));
  });
});

describe('a cross-encoder of known weights (RERANK of R14)', () => {
  const model = writeTinyBert(join(folder, 'rank.gguf'), { poolingType: 4 });
  const backend = LlamaEmbeddingBackend.open({ model, threads: 1 });
  const { engine } = engineWith(backend);
  afterAll(() => engine.close(new Error('over')));
  const ask = (query: string, documents: readonly string[], truncate = false) =>
    engine.rerank({ requestId: 'r', model: 'default', query, documents, method: 'crossEncoder', truncate }, signal);

  it('gives each pair the score of its definition, whatever shares its pass', { timeout: 60_000 }, async () => {
    const seen: number[] = [];
    await fc.assert(
      fc.asyncProperty(textOf(1, 8), fc.array(textOf(0, 90), { minLength: 1, maxLength: 12 }), async (query, documents) => {
        const { scores, promptTokens } = await ask(query, documents);
        const pairs = documents.map((document) => [begin, ...idsOf(query), end, ...idsOf(document), end]);
        for (const [i, pair] of pairs.entries()) {
          const expected = 1 / (1 + Math.exp(-model.logOdds(pair)));
          seen.push(expected);
          expect(Math.abs((scores[i] as number) - expected), `${query} / ${documents[i]}`).toBeLessThan(1e-3);
        }
        expect(promptTokens).toBe(pairs.reduce((total, pair) => total + pair.length, 0));
      }),
      { numRuns: 15 },
    );
    expect(Math.max(...seen) - Math.min(...seen)).toBeGreaterThan(0.2); // the pairs differ
  });

  it('cuts a document only where that is allowed, and says by how much; a query never', async () => {
    const documents = ['sea '.repeat(200), 'ship'];
    await expect(ask('port', documents)).rejects.toMatchObject({
      code: 'CONTEXT_LENGTH_EXCEEDED',
      data: { index: 0, promptTokens: 204, contextTokensMax: 160 },
    });
    const { scores, tokensLeftOut } = await ask('port', documents, true);
    expect(tokensLeftOut).toEqual([44, 0]);
    const kept = [begin, ...idsOf('port'), end, ...idsOf('sea '.repeat(156)), end];
    expect(Math.abs((scores[0] as number) - 1 / (1 + Math.exp(-model.logOdds(kept))))).toBeLessThan(1e-3);
    await expect(ask('sea '.repeat(200), ['x'], true)).rejects.toMatchObject({ code: 'CONTEXT_LENGTH_EXCEEDED' });
  });

  it('reads long documents whole, where it was trained for them', { timeout: 60_000 }, async () => {
    const long = writeTinyBert(join(folder, 'long-rank.gguf'), { poolingType: 4, positions: 700 });
    const opened = engineWith(LlamaEmbeddingBackend.open({ model: { ...long, textTokensMax: 700 }, threads: 1 }));
    const documents = ['sea ship', longText(640)];
    const request = { requestId: 'r', model: 'default', query: 'port', documents, method: 'crossEncoder' as const };
    const { scores, tokensLeftOut } = await opened.engine.rerank(request, signal);
    expect(tokensLeftOut).toBeUndefined();
    for (const [i, document] of documents.entries()) {
      const expected = 1 / (1 + Math.exp(-long.logOdds([begin, ...idsOf('port'), end, ...idsOf(document), end])));
      expect(Math.abs((scores[i] as number) - expected)).toBeLessThan(5e-3); // half-precision values, over many rows
    }
    await opened.engine.close(new Error('over'));
  });

  it('gives no vectors, and says so', async () => {
    const wrong = { code: 'MODEL_KIND_WRONG' };
    await expect(engine.embed({ requestId: 'e', model: 'default', texts: ['sea'] }, signal)).rejects.toMatchObject(wrong);
    const byVectors = { requestId: 'r', model: 'default', query: 'a', documents: ['b'], method: 'embedding' as const };
    await expect(engine.rerank(byVectors, signal)).rejects.toMatchObject(wrong);
    expect(engine.models().at(-1)).toMatchObject({ kind: 'embedding', crossEncoder: true });
  });
});

describe('a decoder as embedding model (R23)', () => {
  it('gives the same vector alone and in a pack of mixed lengths, pooled over the last row or all', { timeout: 60_000 }, () => {
    const model = writeTinyLlama(join(folder, 'decoder.gguf'), { type: 'f16' });
    for (const pooling of [undefined, 'mean'] as const) {
      const backend = LlamaEmbeddingBackend.open({ model: { ...model, pooling }, threads: 1 });
      const text = fc.uint8Array({ minLength: 1, maxLength: 60 }).map((bytes) => Int32Array.from(bytes, (byte) => byte + 3));
      fc.assert(
        fc.property(fc.array(text, { minLength: 2, maxLength: 10 }), (texts) => {
          const kept = texts.filter((_, i) => texts.slice(0, i + 1).reduce((rows, { length }) => rows + length, 0) <= 128);
          for (const [i, vector] of backend.embed(kept).entries()) {
            const [alone] = backend.embed([kept[i] as Int32Array]) as [Float32Array];
            expect(distance(vector, alone)).toBeLessThanOrEqual(1e-6);
          }
        }),
        { numRuns: 40 },
      );
      expect(backend.embed([backend.tokenize('')])).toHaveLength(1);
      backend.close();
    }
  });

  it('gives the same vector in one pass and in pieces of any cut, however it is pooled', { timeout: 60_000 }, () => {
    const model = writeTinyLlama(join(folder, 'pieces.gguf'), { type: 'f16' });
    for (const pooling of ['mean', 'cls', 'last'] as const) {
      const backend = LlamaEmbeddingBackend.open({ model: { ...model, pooling }, threads: 1 });
      expect(backend.facts).toMatchObject({ textTokensMax: 256, passTokensMax: 128, packTokensMax: 128 });
      const text = fc.uint8Array({ minLength: 2, maxLength: 128 }).map((bytes) => Int32Array.from(bytes, (byte) => byte + 3));
      fc.assert(
        fc.property(text, fc.array(fc.nat(127), { maxLength: 4 }), (tokens, cuts) => {
          const [whole] = backend.embed([tokens]) as [Float32Array];
          const borders = [0, ...new Set(cuts.filter((cut) => cut > 0 && cut < tokens.length).sort((a, b) => a - b)), tokens.length];
          const pieces = borders.slice(1).map((to, i) => {
            backend.embed([Int32Array.of(5, 6, 7)]); // what comes between two pieces changes nothing
            return backend.readPiece(tokens, { from: borders[i] as number, to });
          });
          expect(pieces.slice(0, -1).every((vector) => vector === undefined)).toBe(true);
          expect(distance(pieces.at(-1) as Float32Array, whole)).toBeLessThanOrEqual(1e-6);
        }),
        { numRuns: 25 },
      );
      const long = new Int32Array(256).fill(40);
      backend.readPiece(long, { from: 0, to: 128 });
      expect(() => backend.readPiece(long, { from: 100, to: 200 })).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
      backend.close();
    }
  });

  it('gives a text of 1,500 tokens the same vector alone and among others; one beyond 2,048 is refused, or cut and said', {
    timeout: 60_000,
  }, async () => {
    const model = writeTinyLlama(join(folder, 'far.gguf'), { type: 'f16', contextTokens: 8192 });
    const { engine } = engineWith(LlamaEmbeddingBackend.open({ model: { ...model, pooling: 'mean' }, threads: 1 }));
    const ask = async (texts: readonly string[], truncate = false) =>
      engine.embed({ requestId: 'e', model: 'default', texts, truncate }, signal);
    const letters = longText(2000).replaceAll(' ', ''); // a token each
    const text = letters.slice(0, 1500);
    const [alone, short] = [await ask([text]), await ask(['sea'])];
    const among = await ask(['sea', text, 'ship '.repeat(10), text.slice(1)]);
    expect(alone.promptTokens).toBe(1500);
    expect(distance(among.vectors[1] as number[], alone.vectors[0] as number[])).toBeLessThanOrEqual(1e-6);
    expect(distance(among.vectors[0] as number[], short.vectors[0] as number[])).toBeLessThanOrEqual(1e-6);
    const long = letters.slice(0, 2100);
    await expect(ask([long])).rejects.toMatchObject({
      code: 'CONTEXT_LENGTH_EXCEEDED',
      data: { promptTokens: 2100, contextTokensMax: 2048 },
    });
    expect(await ask([long], true)).toMatchObject({ promptTokens: 2048, tokensLeftOut: [52] });
    await engine.close(new Error('over'));
  });
});
