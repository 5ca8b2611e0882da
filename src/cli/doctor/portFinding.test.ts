import { describe, expect, it } from 'vitest';
import { portFinding } from './portFinding.js';

describe('portFinding', () => {
  const wanted = { port: 8529, shards: 2 };
  const own = { pid: 7, ports: [8529, 8629, 8530, 8630] };
  const find = (given: Partial<Parameters<typeof portFinding>[0]>) =>
    portFinding({ wanted, taken: [], running: undefined, others: [], ...given });

  it('free ports are well', () => {
    expect(find({})).toEqual({ check: 'ports', state: 'ok', found: '8529…8530 and 8629…8630 are free', advice: '' });
  });

  it('ports of the running cluster of the data folder are well, and it says so', () => {
    const found = '8529…8530 and 8629…8630 are used by the running cluster of this data folder (process 7)';
    expect(find({ taken: own.ports, running: own })).toEqual({ check: 'ports', state: 'ok', found, advice: '' });
    expect(find({ taken: [8530], running: own })).toMatchObject({ state: 'ok', found });
    expect(find({ taken: [], running: own })).toMatchObject({ state: 'ok', found: expect.stringMatching(/are free$/) });
  });

  it('names ports of another cluster, whose RPC ports answer nobody', () => {
    expect(find({ taken: [8529, 8629], others: [8529] })).toMatchObject({
      state: 'warning',
      found: 'ports 8529, 8629 taken by another Ostraka cluster',
      advice: expect.stringContaining('--data'),
    });
  });

  it('names ports of another program, those of the own cluster aside', () => {
    expect(find({ taken: [8529, 8530], running: { pid: 7, ports: [8529] } })).toMatchObject({
      state: 'warning',
      found: 'port 8530 taken by another program',
      advice: expect.stringContaining('--port'),
    });
    expect(find({ taken: [8529, 8530], others: [8529] })).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('another program'),
    });
  });
});
