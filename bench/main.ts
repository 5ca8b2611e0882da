// npm run bench -- NAME… [--json] [--quick] [--list]: runs benches one after another and prints a line each.
import { adapterContextsBench } from './adapterContexts.bench.js';
import type { BenchResult } from './BenchResult.js';
import { batchedBench } from './batched.bench.js';
import { constraintBench } from './constraint.bench.js';
import { dataLocalBench } from './dataLocal.bench.js';
import { draftsBench } from './drafts.bench.js';
import { embeddingBench } from './embedding.bench.js';
import { engineBench } from './engine.bench.js';
import { eventLoopBench } from './eventLoop.bench.js';
import { footprintBench } from './footprint.bench.js';
import { hopBench } from './hop.bench.js';
import { overheadBench } from './overhead.bench.js';
import { prefixBench } from './prefix.bench.js';
import { prefixMoveBench } from './prefixMove.bench.js';
import { queriesBench } from './queries.bench.js';
import { routingBench } from './routing.bench.js';
import { scatterBench } from './scatter.bench.js';
import { scheduleBench } from './schedule.bench.js';
import { serverBench } from './server.bench.js';
import { soakBench } from './soak.bench.js';
import { trainingBench } from './training.bench.js';
import { writesBench } from './writes.bench.js';

const benches: { readonly [name: string]: (options: { readonly quick: boolean }) => Promise<BenchResult[]> } = {
  adapterContexts: adapterContextsBench,
  batched: batchedBench,
  constraint: constraintBench,
  drafts: draftsBench,
  dataLocal: dataLocalBench,
  embedding: embeddingBench,
  engine: engineBench,
  eventLoop: eventLoopBench,
  footprint: footprintBench,
  hop: hopBench,
  overhead: overheadBench,
  prefix: prefixBench,
  prefixMove: prefixMoveBench,
  queries: queriesBench,
  routing: routingBench,
  scatter: scatterBench,
  schedule: scheduleBench,
  server: serverBench,
  soak: soakBench,
  training: trainingBench,
  writes: writesBench,
};

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith('--'));
const has = (flag: string): boolean => args.includes(flag);

const show = (result: BenchResult): string => {
  const { name, metric, value, unit, against, ratio, spread, runs, load } = result;
  return `${name}: ${metric} ${value.toPrecision(4)} ${unit}, ${ratio.toFixed(2)}x of ${against} (spread ${(spread * 100).toFixed(0)} %, ${runs} runs, load ${load.toFixed(1)})`;
};

if (has('--list')) {
  console.log(Object.keys(benches).join('\n'));
  process.exit(0);
}
const unknown = names.find((name) => !Object.hasOwn(benches, name));
if (unknown !== undefined) {
  console.error(`no bench ${unknown}; there are: ${Object.keys(benches).join(', ')}`);
  process.exit(1);
}
/** Half an hour long: run by name alone. */
const usual = Object.keys(benches).filter((name) => name !== 'soak');
for (const name of names.length > 0 ? names : usual) {
  const results = await (benches[name] as (typeof benches)[string])({ quick: has('--quick') });
  for (const result of results) console.log(has('--json') ? JSON.stringify(result) : show(result));
}
