// Claim (R13): a shard stays responsive however many heavy queries it runs: queries take turns on its event loop, 5 ms at a time. One shard
// as `up` starts it; 260 queries of some 100 ms of work each come at once, over lists and over documents, while a client asks for the version.
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { type BenchShard, openBenchShard } from './openBenchShard.js';

const targetMs = 50;
const queries = 260;
const askEveryMs = 20;
const documents = 2000;
const heavy = [
  'RETURN SUM(FOR i IN 1..250000 RETURN i % 7)',
  'RETURN LENGTH(FOR d IN heavy FOR i IN 1..100 FILTER d.n % 100 == i RETURN d.n)',
];

export async function queriesBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const runs = options.quick ? 1 : 5;
  const shard = await openBenchShard();
  const waits: { readonly p99: number; readonly longest: number; readonly seconds: number }[] = [];
  try {
    await post(shard, '/_api/collection', { name: 'heavy' });
    await post(shard, '/_api/cursor', { query: `FOR n IN 1..${documents} INSERT {n} INTO heavy` });
    for (let run = 0; run < runs; run++) waits.push(await waitsUnder(shard));
  } finally {
    await shard.close();
  }
  const name = `${queries} heavy queries at once`;
  const ofWait = (metric: string, values: readonly number[]) =>
    measured({
      name,
      metric,
      unit: 'ms',
      values: [...values],
      against: `target ${targetMs} ms`,
      ratioOf: (median) => targetMs / Math.max(median, 0.01),
    });
  return [
    ofWait(
      'wait for /_api/version, p99',
      waits.map(({ p99 }) => p99),
    ),
    ofWait(
      'wait for /_api/version, longest',
      waits.map(({ longest }) => longest),
    ),
    measured({
      name,
      metric: 'time until all were answered',
      unit: 's',
      values: waits.map(({ seconds }) => seconds),
      against: 'itself',
      ratioOf: () => 1,
    }),
  ];
}

async function waitsUnder(shard: BenchShard): Promise<{ readonly p99: number; readonly longest: number; readonly seconds: number }> {
  const state = { isOver: false };
  const asking = askVersion(shard, state);
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: queries }, (_, i) => post(shard, '/_api/cursor', { query: heavy[i % heavy.length] as string })));
  const seconds = (performance.now() - startedMs) / 1000;
  state.isOver = true;
  const waits = (await asking).sort((left, right) => left - right);
  return { p99: waits[Math.floor(waits.length * 0.99)] ?? 0, longest: waits.at(-1) ?? 0, seconds };
}

async function askVersion({ url }: BenchShard, state: { readonly isOver: boolean }): Promise<number[]> {
  const waits: number[] = [];
  while (!state.isOver) {
    const startedMs = performance.now();
    await (await fetch(`${url}/_api/version`)).text();
    waits.push(performance.now() - startedMs);
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
  return waits;
}

async function post({ url }: BenchShard, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 200)}`);
}
