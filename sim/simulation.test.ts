import { describe, expect, it } from 'vitest';
import { runSimulation } from './runSimulation.js';

const seeds = 50;
const wallMsMax = 90_000;

describe('simulation of the whole cluster', () => {
  it(`keeps every promise through ${seeds} seeds of a minute each`, { timeout: 4 * wallMsMax }, async () => {
    const failures: unknown[] = [];
    for (let seed = 1; seed <= seeds; seed++) {
      const { violations } = await runSimulation({ seed, minutes: 1, bug: undefined });
      if (violations.length > 0) failures.push({ seed, violations });
    }
    expect(failures).toEqual([]);
  });

  it('runs a seed the same way again', { timeout: 60_000 }, async () => {
    const [first, second, other] = [
      await runSimulation({ seed: 7, minutes: 1, bug: undefined }),
      await runSimulation({ seed: 7, minutes: 1, bug: undefined }),
      await runSimulation({ seed: 8, minutes: 1, bug: undefined }),
    ];
    expect(second.traceSha256).toBe(first.traceSha256);
    expect(other.traceSha256).not.toBe(first.traceSha256);
  });
});
