import { describe, expect, it } from 'vitest';
import { rareStates } from './rareStates.js';
import { regressionSeeds } from './regressionSeeds.js';
import { runSimulation, type SimulationResult } from './runSimulation.js';
import { runSeeds } from './seeds/runSeeds.js';

const seeds = 50;
const threads = 2;
/** Of both threads, user and system: 90 s on two cores. Other work on the machine does not count. */
const cpuSecondsMax = 180;
const fiveShardRunsMin = 10;

const run = (seed: number): Promise<SimulationResult> => runSimulation({ seed, minutes: 1, bug: undefined });
const digests = new Map<number, string>();
/** What the trace of a seed was, when some test ran it already. */
const digestOf = async (seed: number): Promise<string> => digests.get(seed) ?? (await run(seed)).traceSha256;

describe('simulation of the whole cluster', () => {
  it(`keeps every promise through ${seeds} seeds of a minute each, reaches every rare state, in ${cpuSecondsMax} s of CPU on two cores`, {
    timeout: 600_000,
  }, async () => {
    const failures: unknown[] = [];
    const reached = new Set<string>();
    let fiveShardRuns = 0;
    const usedBefore = process.cpuUsage();
    const results = await runSeeds({ seeds: Array.from({ length: seeds }, (_, index) => index + 1), minutes: 1, threads });
    for (const { seed, violations, reached: states, shards, traceSha256 } of results) {
      digests.set(seed, traceSha256);
      if (violations.length > 0) failures.push({ seed, violations });
      for (const state of states) reached.add(state);
      if (shards === 5) fiveShardRuns++;
    }
    const { user, system } = process.cpuUsage(usedBefore);
    expect(failures).toEqual([]);
    expect(rareStates.filter((state) => !reached.has(state))).toEqual([]);
    expect(fiveShardRuns).toBeGreaterThanOrEqual(fiveShardRunsMin);
    expect((user + system) / 1e6).toBeLessThan(cpuSecondsMax);
  });

  it.each(regressionSeeds)('keeps every promise in seed $seed, which once found: $found', { timeout: 120_000 }, async ({ seed }) => {
    expect((await run(seed)).violations).toEqual([]);
  });

  it('runs a seed the same way again, in a thread beside others or alone', { timeout: 60_000 }, async () => {
    const [first, other] = [await digestOf(7), await digestOf(8)];
    expect((await run(7)).traceSha256).toBe(first);
    expect(other).not.toBe(first);
  });
});
