import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonValue } from '../src/base/index.js';
import { SimCluster } from './cluster/SimCluster.js';
import type { ClientAnswer } from './workloads/ClientAnswer.js';
import { SimClient } from './workloads/SimClient.js';
import { SimWorld } from './world/SimWorld.js';

const patienceMs = 200_000;
const rowsOfOneWrite = 6;
const typedErrors = [
  'lost',
  'CLOCK_AHEAD',
  'SHARD_UNAVAILABLE',
  'SNAPSHOT_TOO_OLD',
  'TRANSACTION_IN_DOUBT',
  'TRANSACTION_OUTCOME_UNKNOWN',
  'DEADLINE_EXCEEDED',
];

/** One answer and the virtual time it took. */
interface Timed {
  readonly answer: ClientAnswer;
  readonly tookMs: number;
}

describe('shards whose wall clocks differ (docs/decisions/0006)', () => {
  let world: SimWorld;
  let cluster: SimCluster;
  let client: SimClient;
  let writes: number;
  beforeEach(async () => {
    world = new SimWorld({ seed: 1, traceLinesKept: 10, onTraceLine: undefined });
    cluster = new SimCluster({ world, shardCount: 3, bug: {} });
    client = new SimClient({ name: 'client', random: world.random.fork('client'), cluster });
    writes = 0;
    expect(await world.runWhile(cluster.start(20_000), 20_000)).toBe(true);
    await timed(client.ask(cluster.shard(0), { method: 'POST', path: '/_api/collection', body: { name: 'rows' } }));
    return () => cluster.end();
  });

  const timed = async (work: Promise<ClientAnswer>): Promise<Timed> => {
    const fromMs = world.nowMs;
    const answer = (await world.runWhile(work, patienceMs)) as ClientAnswer;
    return { answer, tookMs: world.nowMs - fromMs };
  };
  /** Documents of one transaction on all shards. */
  const write = (shard: number): Promise<Timed> => {
    const text = `FOR n IN 1..${rowsOfOneWrite} INSERT {_key: CONCAT('w${++writes}-', n)} INTO rows`;
    return timed(client.query(cluster.shard(shard), text, {}));
  };
  const count = (shard: number): Promise<Timed> =>
    timed(client.query(cluster.shard(shard), 'FOR d IN rows COLLECT WITH COUNT INTO n RETURN n', {}));
  const isDone = ({ answer }: Timed): boolean => answer.kind === 'answer' && answer.status < 300;
  const resultOf = ({ answer }: Timed): JsonValue | undefined =>
    answer.kind === 'answer' ? (answer.body as { readonly result?: JsonValue }).result : undefined;
  const codeOf = ({ answer }: Timed): string | undefined => (answer.kind === 'answer' ? answer.code : answer.kind);

  it.each([250, -250])('a difference of %d ms makes a commit that much longer; who asks another shard next sees it', async (skewMs) => {
    cluster.skewClock(cluster.shard(1), skewMs);
    for (const [round, shard] of [1, 0, 2].entries()) {
      const written = await write(shard);
      expect(isDone(written)).toBe(true);
      expect(written.tookMs).toBeLessThan(Math.abs(skewMs) + 100);
      expect(resultOf(await count((shard + 1) % 3))).toEqual([(round + 1) * rowsOfOneWrite]);
    }
    expect(world.violations).toEqual([]);
  });

  it('a clock a minute ahead is told by typed errors and costs no data: the others do not follow it, and all is well once it is set right', async () => {
    cluster.skewClock(cluster.shard(1), 60_000);
    const during = [await write(1), await write(0), await write(2), await count(0)];
    for (const one of during) {
      if (!isDone(one)) expect(typedErrors).toContain(codeOf(one));
    }
    expect(during.some((one) => codeOf(one) === 'CLOCK_AHEAD')).toBe(true);
    cluster.skewClock(cluster.shard(1), 0);
    await world.runUntil(world.nowMs + 70_000); // the shard's own data and decisions lie so far ahead
    const acknowledged = during.slice(0, 3).filter(isDone).length;
    const [first, second] = [await count(0), await count(2)];
    expect(resultOf(first)).toEqual(resultOf(second));
    const rows = (resultOf(first) as readonly number[])[0] as number;
    expect(rows % rowsOfOneWrite).toBe(0);
    expect(rows).toBeGreaterThanOrEqual(acknowledged * rowsOfOneWrite);
    expect(isDone(await write(1))).toBe(true);
    expect(world.violations).toEqual([]);
  });
});
