import { LlamaEmbeddingBackend } from '../src/platform/node/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { type BareEmbedding, openBareEmbedding } from './openBareEmbedding.js';
import { openBenchEngine } from './openBenchEngine.js';
import { textOfTokens } from './textOfTokens.js';

const bounds = { sequences: 1, contextTokens: 256, threads: 1 };
const textTokens = 50;
const ofLoop = 1.5;
const ofCeiling = 0.95;
/** Texts a call among which the library's best pack is looked for. */
const packSizes = [2, 4, 8];
const distanceMax = 1e-6;

/** Texts per CPU-second. */
interface Rates {
  readonly packed: number;
  readonly oneByOne: number;
  readonly loop: number;
  /** The library's best with one text a call, and with several. */
  readonly bareAlone: number;
  readonly barePacks: number;
}

/**
 * Texts per CPU-second of one request with many texts (R23) against a loop over the native library with a text a call, and against as many
 * requests of one text. What is computed for a row does not depend on how many there are, so packs gain only what the library's kernels do:
 * the ceiling is its best packs over its best single texts, both run bare, and how near ours come to it is a result of its own. Those of a
 * run follow each other, so that they meet the same machine. Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL.
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
    const tokens = texts.map((text) => backend.tokenize(text));
    const loop = await timed(async () => tokens.map(bare.asItComes));
    const bareAlone = await timed(async () => tokens.map(bare.atItsBest));
    const packs: number[] = [];
    for (const size of packSizes) packs.push((await timed(async () => runPacks(bare, tokens, size))).seconds);
    const oneByOne = await timed(async () => {
      const vectors: (readonly number[])[] = [];
      for (const text of texts) vectors.push(...(await embed([text])));
      return vectors;
    });
    if (run < 0) continue; // the first run warms up
    const rate = ({ seconds }: { readonly seconds: number }): number => count / seconds;
    rates.push({
      packed: rate(packed),
      loop: rate(loop),
      oneByOne: rate(oneByOne),
      bareAlone: rate(bareAlone),
      barePacks: count / Math.min(...packs),
    });
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
  measured({
    name: 'the library’s best packs against its best single texts',
    metric: 'ratio of texts per CPU-second',
    unit: 'x',
    values: rates.map((each) => each.barePacks / each.bareAlone),
    against: 'packs of ours against single texts of ours: how much of this ceiling is reached',
    ratioOf: (ceiling) => medianOf(rates.map((each) => each.packed / each.oneByOne)) / ceiling,
  }),
  ratioOf('embedding in packs against the library’s best packs', {
    values: rates.map((each) => each.packed / each.barePacks),
    target: ofCeiling,
  }),
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

function runPacks(bare: BareEmbedding, texts: readonly Int32Array[], size: number): void {
  for (let at = 0; at < texts.length; at += size) bare.pack(texts.slice(at, at + size));
}

const distanceOf = (left: readonly number[], right: readonly number[]): number =>
  1 - left.reduce((sum, value, i) => sum + value * (right[i] as number), 0);

const medianOf = (values: readonly number[]): number => [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
