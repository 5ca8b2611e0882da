// Claim (R28, paper §IV-E): a collection that embeds itself, LLM EMBED … FOR with its scan, digests, commits and the look for rows that
// were written meanwhile, runs at no less than 0.98 of the speed of a bare loop over the model with the same texts in the same packs. One
// shard as `up` starts it against the loop in this process; the two of a run follow each other, in turns, so that they meet the same machine.
import { readFileSync } from 'node:fs';
import type { EmbeddingBackend } from '../src/platform/index.js';
import { LlamaEmbeddingBackend } from '../src/platform/node/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { type BenchShard, openBenchShard } from './openBenchShard.js';
import { textOfTokens } from './textOfTokens.js';

const textTokens = 50;
const target = 0.98;
const ticksPerSecond = 100;

/** Rows per second of time and of CPU. */
interface Speed {
  readonly rows: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export async function dataLocalBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const [runs, rows] = options.quick ? [3, 256] : [11, 1024];
  const model = modelFile('OSTRAKA_TEST_EMBEDDING_MODEL');
  const backend = LlamaEmbeddingBackend.open({ model, threads: 1 });
  const shard = await openBenchShard();
  const pairs: { readonly statement: Speed; readonly loop: Speed }[] = [];
  try {
    for (let run = -1; run < runs; run++) {
      const texts = Array.from({ length: rows }, (_, i) => textOfTokens(backend, `${run} and ${i}`, textTokens));
      await store(shard, `rows${run + 1}`, texts);
      const inTurn = [() => embedStored(shard, `rows${run + 1}`, rows), () => embedInLoop(backend, texts)] as const;
      const [one, other] = run % 2 === 0 ? inTurn : [inTurn[1], inTurn[0]];
      const [first, second] = [await one(), await other()];
      if (run < 0) continue; // the first run warms up
      pairs.push(run % 2 === 0 ? { statement: first, loop: second } : { statement: second, loop: first });
    }
  } finally {
    await shard.close();
    backend.close();
  }
  return resultsOf(pairs);
}

const resultsOf = (pairs: readonly { readonly statement: Speed; readonly loop: Speed }[]): BenchResult[] => {
  const name = `stored rows of ${textTokens} tokens, embedded where they are`;
  const ratios = (of: (speed: Speed) => number): readonly number[] => pairs.map(({ statement, loop }) => of(statement) / of(loop));
  const perSecond = ({ rows, seconds }: Speed): number => rows / seconds;
  const against = `the target of ${target}`;
  const ratioOf = (median: number): number => median / target;
  return [
    measured({
      name,
      metric: 'rows per second',
      unit: '1/s',
      values: pairs.map(({ statement }) => perSecond(statement)),
      against: 'the bare loop',
      ratioOf: (median) => median / medianOf(pairs.map(({ loop }) => perSecond(loop))),
    }),
    measured({ name, metric: 'rows per second of the bare loop', unit: 'x', values: ratios(perSecond), against, ratioOf }),
    measured({
      name,
      metric: 'rows per CPU-second of the bare loop, shard and engine together',
      unit: 'x',
      values: ratios(({ rows, cpuSeconds }) => rows / cpuSeconds),
      against: 'itself',
      ratioOf: () => 1,
    }),
  ];
};

async function store(shard: BenchShard, collection: string, texts: readonly string[]): Promise<void> {
  await post(shard, '/_api/collection', { name: collection });
  const query = 'FOR text IN @texts INSERT {text} INTO @@collection';
  await post(shard, '/_api/cursor', { query, bindVars: { texts, '@collection': collection } });
}

async function embedStored(shard: BenchShard, collection: string, rows: number): Promise<Speed> {
  const query = "LLM EMBED 'default' FOR d IN @@collection FROM d.text INTO vector";
  const cpuOf = (): number => cpuSecondsOf(shard.pid) + cpuSecondsOf(shard.enginePid);
  const [cpuBefore, startedMs] = [cpuOf(), performance.now()];
  const answer = await post(shard, '/_api/cursor', { query, bindVars: { '@collection': collection } });
  const seconds = (performance.now() - startedMs) / 1000;
  const embedded = answer.result.reduce((sum, row) => sum + row.embedded, 0);
  if (embedded !== rows) throw new Error(`${embedded} rows were embedded instead of ${rows}`);
  return { rows, seconds, cpuSeconds: cpuOf() - cpuBefore };
}

/** The same packs as the engine's, without queue, scheduler, loop or store. */
async function embedInLoop(backend: EmbeddingBackend, texts: readonly string[]): Promise<Speed> {
  const perPack = Math.floor(backend.facts.packTokensMax / textTokens);
  const [before, startedMs] = [process.cpuUsage(), performance.now()];
  const tokens = texts.map((text) => backend.tokenize(text));
  for (let at = 0; at < tokens.length; at += perPack) backend.embed(tokens.slice(at, at + perPack));
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(before);
  return { rows: texts.length, seconds, cpuSeconds: (user + system) / 1e6 };
}

/** User and system time of a process, in steps of 10 ms. */
function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

async function post({ url }: BenchShard, path: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 200)}`);
  return JSON.parse(text) as { readonly result: readonly { readonly embedded: number }[] };
}

const medianOf = (values: readonly number[]): number => [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
