import { describe, expect, it } from 'vitest';
import { rareStates } from './rareStates.js';
import { regressionSeeds } from './regressionSeeds.js';
import { runSimulation, type SimulationResult } from './runSimulation.js';

const seeds = 50;
/** Of this process, user and system: other work on the machine does not count. Half of it is what the runs take now. */
const cpuSecondsMax = 90;
const fiveShardRunsMin = 10;

const digests = new Map<number, string>();
/** A run of the seed; what its trace was is kept, so that no test runs it only to know. */
const run = async (seed: number): Promise<SimulationResult> => {
  const result = await runSimulation({ seed, minutes: 1, bug: undefined });
  digests.set(seed, result.traceSha256);
  return result;
};
const digestOf = async (seed: number): Promise<string> => digests.get(seed) ?? (await run(seed)).traceSha256;

describe('simulation of the whole cluster', () => {
  it(`keeps every promise through ${seeds} seeds of a minute each, reaches every rare state, in ${cpuSecondsMax} s of CPU`, {
    timeout: 600_000,
  }, async () => {
    const failures: unknown[] = [];
    const reached = new Set<string>();
    let fiveShardRuns = 0;
    const usedBefore = process.cpuUsage();
    for (let seed = 1; seed <= seeds; seed++) {
      const { violations, reached: states, shards } = await run(seed);
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

  it('runs a seed the same way again', { timeout: 60_000 }, async () => {
    const [first, other] = [await digestOf(7), await digestOf(8)];
    expect((await run(7)).traceSha256).toBe(first);
    expect(other).not.toBe(first);
  });
});
