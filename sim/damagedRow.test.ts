import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimCluster } from './cluster/SimCluster.js';
import type { ClientAnswer } from './workloads/ClientAnswer.js';
import { SimClient } from './workloads/SimClient.js';
import { SimWorld } from './world/SimWorld.js';

const limitMs = 30_000;
const keys = Array.from({ length: 12 }, (_, i) => `key-${i}`);
/** Rows of kind `c` hold the newest version of a document (format 1). */
const documentRows = { from: Uint8Array.of(0x63), to: Uint8Array.of(0x64), entriesMax: 100 };
const damages = Array.from({ length: 12 }, (_, i) => ({ row: (i % 4) / 4, bit: i / 12 }));

describe('a disk that changes a stored bit', () => {
  let world: SimWorld;
  let cluster: SimCluster;
  let client: SimClient;
  beforeEach(async () => {
    world = new SimWorld({ seed: 3, traceLinesKept: 10, onTraceLine: undefined });
    cluster = new SimCluster({ world, shardCount: 3, bug: {} });
    client = new SimClient({ name: 'client', random: world.random.fork('client'), cluster });
    expect(await world.runWhile(cluster.start(limitMs), limitMs)).toBe(true);
    await run(client.ask(cluster.shard(0), { method: 'POST', path: '/_api/collection', body: { name: 'kept' } }));
    const text = 'FOR key IN @keys INSERT {_key: key, text: CONCAT("text of ", key)} INTO kept';
    await run(client.query(cluster.shard(0), text, { keys }));
  });
  afterEach(() => cluster.end());

  const run = async (work: Promise<ClientAnswer>): Promise<ClientAnswer> => (await world.runWhile(work, limitMs)) as ClientAnswer;
  const read = (key: string): Promise<ClientAnswer> =>
    run(client.ask(cluster.shard(0), { method: 'GET', path: `/_api/document/kept/${key}` }));

  it.each(damages)('is a typed error where it is read and nowhere a wrong answer: row $row, bit $bit', async (pick) => {
    cluster.shard(1).disk.damage(documentRows, pick);
    let damaged = 0;
    for (const key of keys) {
      const answer = await read(key);
      if (answer.kind !== 'answer') expect.fail(`${key} has no answer`);
      if (answer.status === 200) expect(answer.body).toMatchObject({ _key: key, text: `text of ${key}` });
      else expect(answer.code).toBe('STORE_DAMAGED');
      if (answer.status !== 200) damaged++;
    }
    expect(damaged).toBe(1);
    const all = await run(client.query(cluster.shard(2), 'FOR d IN kept RETURN d.text', {}));
    expect(all).toMatchObject({ kind: 'answer', code: 'STORE_DAMAGED' });
    expect(world.violations).toEqual([]);
  });
});
