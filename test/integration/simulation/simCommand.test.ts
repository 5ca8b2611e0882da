import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runSimulation } from '../../../sim/index.js';

const sim = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['dist/src/cli/main.js', 'sim', '--json', ...args], { encoding: 'utf8' });

describe('ostraka sim', () => {
  it('gives the same trace in another process', async () => {
    const { status, stdout } = sim('--seed', '7');
    const here = await runSimulation({ seed: 7, minutes: 1, bug: undefined });
    expect({ status, ...JSON.parse(stdout) }).toEqual({ status: 0, seed: 7, traceSha256: here.traceSha256, violations: [] });
  });

  it('ends with 1 and the violation when a promise is broken', () => {
    const { status, stdout } = sim('--seed', '1', '--bug', 'leaked-slot');
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      seed: 1,
      violations: expect.arrayContaining([expect.objectContaining({ checker: 'slots' })]),
    });
  });

  it('names the planted bugs there are', () => {
    const { status, stderr } = sim('--seed', '1', '--bug', 'none');
    expect(status).toBe(1);
    expect(stderr).toContain('half-commit');
  });
});
