import type { SimShard } from '../cluster/SimShard.js';
import type { ClientAnswer } from './ClientAnswer.js';
import { effectOf } from './effectOf.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

const collection = 'pages';
const rowCount = 30;
const batchSize = 7;
const slowMsMax = 3_000;

interface Row {
  readonly n: number;
  readonly edition: number;
}

interface Batch {
  readonly result: readonly Row[];
  readonly hasMore: boolean;
  readonly id?: string;
}

const readSorted = 'FOR d IN pages SORT d.n RETURN {n: d.n, edition: d.edition}';

/** Cursors read in several batches, by quick and slow clients, while every row is rewritten: each shows one edition, in order, once. */
export class CursorWorkload implements Workload {
  readonly weight = 1;
  #editions = 0;

  async setUp(client: SimClient): Promise<void> {
    await client.ask(client.anyShard(), { method: 'POST', path: '/_api/collection', body: { name: collection } });
    const insert = `FOR n IN 1..${rowCount} INSERT {_key: CONCAT('row-', n), n, edition: 0} INTO pages`;
    const answer = await client.query(client.anyShard(), insert, {});
    if (effectOf(answer) !== 'done') client.violate('setup', `pages could not be made: ${JSON.stringify(answer)}`);
  }

  async step(client: SimClient): Promise<void> {
    if (client.random.chance(0.3)) await this.#rewrite(client);
    else await this.#readAll(client, client.anyShard(), client.random.chance(0.5) ? slowMsMax : 0);
  }

  async verify(client: SimClient): Promise<void> {
    for (const shard of client.cluster.shards) {
      const rows = await this.#readAll(client, shard, 0);
      if (rows !== undefined && rows.length !== rowCount)
        client.violate('liveness', `${shard.shardId} gives ${rows.length} of ${rowCount} rows`);
    }
  }

  async #rewrite(client: SimClient): Promise<void> {
    const edition = ++this.#editions;
    await client.query(client.anyShard(), 'FOR d IN pages UPDATE d WITH {edition: @edition} IN pages', { edition });
  }

  /** The rows as far as they came; undefined when the reader gave the cursor up. */
  async #readAll(client: SimClient, shard: SimShard, pauseMsMax: number): Promise<readonly Row[] | undefined> {
    const leavesAfter = client.random.chance(0.2) ? client.random.below(3) : Number.POSITIVE_INFINITY;
    const rows: Row[] = [];
    let batch = batchOf(await client.ask(shard, { method: 'POST', path: '/_api/cursor', body: { query: readSorted, batchSize } }));
    for (let batches = 1; batch !== undefined; batches++) {
      rows.push(...batch.result);
      this.#check(client, rows, batch.hasMore);
      if (!batch.hasMore || batch.id === undefined) break;
      client.cluster.world.reach('cursor of several batches');
      if (batches > leavesAfter) {
        await client.ask(shard, { method: 'DELETE', path: `/_api/cursor/${batch.id}` });
        client.cluster.world.reach('cursor given up');
        return undefined;
      }
      if (pauseMsMax > 0) await client.sleep(client.random.between(0, pauseMsMax));
      batch = batchOf(await client.ask(shard, { method: 'POST', path: `/_api/cursor/${batch.id}` }));
    }
    if (batch === undefined && rows.length > 0) client.cluster.world.reach('cursor lost in the middle');
    return rows;
  }

  #check(client: SimClient, rows: readonly Row[], hasMore: boolean): void {
    const wrong = rows.find(({ n }, i) => n !== i + 1);
    if (wrong !== undefined) client.violate('cursor', `row ${wrong.n} is out of its place in [${rows.map(({ n }) => n)}]`);
    const editions = new Set(rows.map(({ edition }) => edition));
    if (editions.size > 1) client.violate('cursor', `one cursor shows editions ${[...editions]}`);
    if (!hasMore && rows.length !== rowCount) client.violate('cursor', `a cursor ended after ${rows.length} of ${rowCount} rows`);
  }
}

const batchOf = (answer: ClientAnswer): Batch | undefined =>
  answer.kind === 'answer' && answer.status < 300 ? (answer.body as unknown as Batch) : undefined;
