import { cpus, loadavg } from 'node:os';
import type { BenchResult } from './BenchResult.js';

/** A bench result of several runs: median, spread, the machine and its load. `ratio` is 1 where `against` is a fixed target that is met. */
export function measured(given: {
  readonly name: string;
  readonly metric: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly against: string;
  /** From the median value. */
  readonly ratioOf: (median: number) => number;
}): BenchResult {
  const sorted = [...given.values].sort((left, right) => left - right);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const { name, metric, unit, against } = given;
  return {
    name,
    metric,
    value: median,
    unit,
    against,
    ratio: given.ratioOf(median),
    spread: median === 0 ? 0 : ((sorted.at(-1) ?? 0) - (sorted[0] ?? 0)) / median,
    runs: sorted.length,
    machine: `${cpus()[0]?.model ?? process.arch}, ${cpus().length} cores, Node ${process.versions.node}`,
    load: loadavg()[0] ?? 0,
  };
}
