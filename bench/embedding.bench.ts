import type { EmbeddingBackend } from '../src/platform/index.js';
import { LlamaEmbeddingBackend } from '../src/platform/node/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { openBareEmbedding } from './openBareEmbedding.js';
import { openBenchEngine } from './openBenchEngine.js';
import { textOfTokens } from './textOfTokens.js';

const bounds = { sequences: 1, contextTokens: 256, threads: 1 };
const textTokens = 50;
const ofLoop = 1.5;
const ofBarePacks = 0.95;
const distanceMax = 1e-6;

/** Texts per CPU-second. */
interface Rates {
  readonly packed: number;
  readonly oneByOne: number;
  readonly loop: number;
  readonly barePacks: number;
}

/**
 * Texts per CPU-second of one request with many texts (R23) against a loop over the native library with a text a call, against as many
 * requests of one text, and against the same packs run by hand where nothing is scheduled. The four of a run follow each other, so that
 * they meet the same machine. Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL.
 */
export async function embeddingBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const runs = options.quick ? 3 : 11;
  const count = options.quick ? 16 : 32;
  const file = modelFile('OSTRAKA_TEST_EMBEDDING_MODEL');
  const [engine, backend, bare] = [
    openBenchEngine(bounds),
    LlamaEmbeddingBackend.open({ model: file, threads: 1 }),
    openBareEmbedding(file),
  ];
  const { signal } = new AbortController();
  const embed = async (texts: readonly string[]) => (await engine.embed({ requestId: 'bench', model: 'default', texts }, signal)).vectors;
  const rates: Rates[] = [];
  const distances: number[] = [];
  for (let run = -1; run < runs; run++) {
    const texts = Array.from({ length: count }, (_, i) => textOfTokens(backend, `${run} and ${i}`, textTokens));
    const packed = await timed(() => embed(texts));
    const loop = await timed(async () => texts.map((text) => bare.embed(backend.tokenize(text))));
    const oneByOne = await timed(async () => {
      const vectors: (readonly number[])[] = [];
      for (const text of texts) vectors.push(...(await embed([text])));
      return vectors;
    });
    const barePacks = await timed(async () => runPacks(backend, texts));
    if (run < 0) continue; // the first run warms up
    const rate = ({ seconds }: { readonly seconds: number }): number => count / seconds;
    rates.push({ packed: rate(packed), loop: rate(loop), oneByOne: rate(oneByOne), barePacks: rate(barePacks) });
    distances.push(Math.max(...packed.value.map((vector, i) => distanceOf(vector, oneByOne.value[i] as readonly number[]))));
  }
  await engine.close(new Error('the bench is over'));
  backend.close();
  bare.close();
  return resultsOf(rates, distances);
}

const resultsOf = (rates: readonly Rates[], distances: readonly number[]): BenchResult[] => [
  measured({
    name: `embedding, ${textTokens} tokens a text`,
    metric: 'texts per CPU-second in packs',
    unit: '1/s',
    values: rates.map(({ packed }) => packed),
    against: 'one text a request',
    ratioOf: (median) => median / medianOf(rates.map(({ oneByOne }) => oneByOne)),
  }),
  ratioOf('embedding in packs against a loop over the library', { values: rates.map((each) => each.packed / each.loop), target: ofLoop }),
  ratioOf('embedding in packs against bare packs', { values: rates.map((each) => each.packed / each.barePacks), target: ofBarePacks }),
  measured({
    name: 'embedding alone against in a pack',
    metric: 'largest cosine distance',
    unit: '',
    values: distances,
    against: `the bound of ${distanceMax}`,
    ratioOf: (median) => distanceMax / Math.max(median, Number.EPSILON),
  }),
];

const ratioOf = (name: string, { values, target }: { readonly values: readonly number[]; readonly target: number }): BenchResult =>
  measured({
    name,
    metric: 'ratio of texts per CPU-second',
    unit: 'x',
    values,
    against: `the target of ${target}`,
    ratioOf: (median) => median / target,
  });

const timed = async <Value>(work: () => Promise<Value>): Promise<{ readonly value: Value; readonly seconds: number }> => {
  const start = process.cpuUsage();
  const value = await work();
  const { user, system } = process.cpuUsage(start);
  return { value, seconds: (user + system) / 1e6 };
};

/** The same packs as the engine's, without queue, scheduler or loop. */
function runPacks(backend: EmbeddingBackend, texts: readonly string[]): void {
  const perPack = Math.floor(backend.facts.packTokensMax / textTokens);
  const tokens = texts.map((text) => backend.tokenize(text));
  for (let at = 0; at < tokens.length; at += perPack) backend.embed(tokens.slice(at, at + perPack));
}

const distanceOf = (left: readonly number[], right: readonly number[]): number =>
  1 - left.reduce((sum, value, i) => sum + value * (right[i] as number), 0);

const medianOf = (values: readonly number[]): number => [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
