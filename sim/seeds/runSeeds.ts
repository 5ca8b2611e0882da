import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { SimulationResult } from '../runSimulation.js';

export interface SeedRuns {
  readonly seeds: readonly number[];
  readonly minutes: number;
  /** Runs that go on at once, each in a thread of its own with its own world: a run is the same as alone. */
  readonly threads: number;
  readonly onResult?: (result: SimulationResult) => void;
}

// Threads run built files; from the sources these are found beside them.
const workerFile = new URL(import.meta.url.endsWith('.ts') ? '../../dist/sim/seeds/main.js' : './main.js', import.meta.url);

/** Runs many seeds on several cores; the results are in the order of the seeds. What a run throws ends all. */
export async function runSeeds({ seeds, minutes, threads, onResult }: SeedRuns): Promise<readonly SimulationResult[]> {
  const left = [...seeds];
  const results = new Map<number, SimulationResult>();
  const runAll = async (): Promise<void> => {
    // A run makes much short-lived garbage: a larger young space collects it seldom.
    const worker = new Worker(workerFile, { resourceLimits: { maxYoungGenerationSizeMb: 192 } });
    try {
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
        worker.postMessage({ seed, minutes });
        const [result] = (await once(worker, 'message')) as [SimulationResult]; // rejects with what the thread throws
        results.set(seed, result);
        onResult?.(result);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: threads }, runAll));
  return seeds.map((seed) => results.get(seed) as SimulationResult);
}
