import type { SimShard } from '../cluster/SimShard.js';
import { effectOf } from './effectOf.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

const documents = 4;

/** Collections that are made, filled, dropped and made again under the same name: the new one is empty, and a dropped one is not found. */
export class DropWorkload implements Workload {
  readonly weight = 1;
  readonly #dropped = new Set<string>();
  #names = 0;

  async setUp(): Promise<void> {}

  async step(client: SimClient): Promise<void> {
    const name = `short-${++this.#names}`;
    if (!(await this.#make(client, client.anyShard(), name))) return;
    await client.query(client.anyShard(), 'FOR n IN 1..@documents INSERT {n} INTO @@name', { documents, '@name': name });
    const shard = client.anyShard();
    if (!(await this.#drop(client, shard, name))) return;
    client.cluster.world.reach('collection dropped');
    await this.#demandGone(client, shard, name);
    if (!client.random.chance(0.5) || !(await this.#make(client, shard, name))) this.#dropped.add(name);
    else await this.#demandEmpty(client, shard, name);
  }

  async verify(client: SimClient): Promise<void> {
    for (const shard of client.cluster.shards) {
      const answer = await client.ask(shard, { method: 'GET', path: '/_api/collection' });
      if (effectOf(answer) !== 'done' || answer.kind !== 'answer') {
        client.violate('liveness', `${shard.shardId} does not list its collections after all is healed`);
        continue;
      }
      const { result } = answer.body as { readonly result: readonly { readonly name: string }[] };
      const risen = result.filter(({ name }) => this.#dropped.has(name));
      // One whose making again had no known outcome may be there.
      if (risen.length > 0) await this.#demandEmptyEach(client, shard, risen);
    }
  }

  async #demandEmptyEach(client: SimClient, shard: SimShard, collections: readonly { readonly name: string }[]): Promise<void> {
    for (const { name } of collections) await this.#demandEmpty(client, shard, name);
  }

  async #make(client: SimClient, shard: SimShard, name: string): Promise<boolean> {
    return effectOf(await client.ask(shard, { method: 'POST', path: '/_api/collection', body: { name } })) === 'done';
  }

  async #drop(client: SimClient, shard: SimShard, name: string): Promise<boolean> {
    return effectOf(await client.ask(shard, { method: 'DELETE', path: `/_api/collection/${name}` })) === 'done';
  }

  async #demandGone(client: SimClient, shard: SimShard, name: string): Promise<void> {
    const answer = await client.query(shard, 'FOR d IN @@name RETURN d.n', { '@name': name });
    if (effectOf(answer) === 'done') client.violate('drop', `${name} was dropped on ${shard.shardId} and is read there`);
  }

  async #demandEmpty(client: SimClient, shard: SimShard, name: string): Promise<void> {
    const answer = await client.query(shard, 'FOR d IN @@name RETURN d.n', { '@name': name });
    if (answer.kind !== 'answer' || answer.status >= 300) return;
    const { result } = answer.body as { readonly result: readonly number[] };
    if (result.length > 0) client.violate('drop', `${name} was made anew and holds ${result.length} documents of its former life`);
    client.cluster.world.reach('collection made again');
  }
}
