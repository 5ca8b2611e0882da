import { availableParallelism } from 'node:os';
import type { SimulationResult } from './runSimulation.js';
import { runSeeds } from './seeds/runSeeds.js';

/** `npm run soak -- [seeds] [first seed] [minutes]`: many seeds, as many at once as there are cores; every line names a run that can be replayed. */
const [seeds = 200, firstSeed = 1_000, minutes = 1] = process.argv.slice(2).map(Number);

const startedMs = performance.now();
let failed = 0;
const report = ({ seed, violations, traceSha256, events, shards }: SimulationResult): void => {
  if (violations.length > 0) failed++;
  console.log(`seed ${seed}: ${shards} shards, ${events} events, trace ${traceSha256.slice(0, 16)}, ${violations.length} violations`);
  for (const { atMs, checker, message } of violations) console.log(`  at ${atMs} ms, ${checker}: ${message}`);
};
await runSeeds({
  seeds: Array.from({ length: seeds }, (_, index) => firstSeed + index),
  minutes,
  threads: availableParallelism(),
  onResult: report,
});
console.log(`${seeds} seeds, ${failed} with violations, ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
process.exitCode = failed > 0 ? 1 : 0;
