import type { ClientAnswer } from './ClientAnswer.js';
import { effectOf } from './effectOf.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

const collection = 'pairs';
const readAll = 'FOR d IN pairs RETURN d._key';

/** Two documents a transaction, on any shards: together in every snapshot, and there for good once acknowledged. */
export class PairWorkload implements Workload {
  readonly weight = 2;
  /** When each was acknowledged. */
  readonly #acknowledged = new Map<string, number>();
  #pairs = 0;

  async setUp(client: SimClient): Promise<void> {
    await client.ask(client.anyShard(), { method: 'POST', path: '/_api/collection', body: { name: collection } });
  }

  async step(client: SimClient): Promise<void> {
    if (client.random.chance(0.6)) await this.#insert(client);
    else await this.#read(client);
  }

  async verify(client: SimClient): Promise<void> {
    for (const shard of client.cluster.shards) {
      const before = this.#visible(client);
      const answer = await client.query(shard, readAll, {});
      if (effectOf(answer) !== 'done') client.violate('liveness', `pairs cannot be read after all is healed: ${JSON.stringify(answer)}`);
      this.#check(client, answer, before);
      await this.#checkStored(client, answer);
    }
    if (!(await this.#insert(client))) client.violate('liveness', 'no pair can be inserted after all is healed');
  }

  async #insert(client: SimClient): Promise<boolean> {
    const pair = `pair-${++this.#pairs}`;
    const keys = [`${pair}-a`, `${pair}-b`];
    const answer = await client.query(client.anyShard(), 'FOR key IN @keys INSERT {_key: key, pair: @pair} INTO pairs', { keys, pair });
    const isDone = effectOf(answer) === 'done';
    if (isDone) this.#acknowledged.set(pair, client.nowMs);
    return isDone;
  }

  async #read(client: SimClient): Promise<void> {
    const before = this.#visible(client);
    this.#check(client, await client.query(client.anyShard(), readAll, {}), before);
  }

  /** What a snapshot taken from now on must hold. */
  #visible(client: SimClient): ReadonlySet<string> {
    const untilMs = client.nowMs - client.cluster.clockSlackMs;
    return new Set([...this.#acknowledged].filter(([, atMs]) => atMs <= untilMs).map(([pair]) => pair));
  }

  #check(client: SimClient, answer: ClientAnswer, acknowledgedBefore: ReadonlySet<string>): void {
    if (answer.kind !== 'answer' || answer.status >= 300) return;
    const halves = new Map<string, number>();
    for (const key of resultOf(answer)) {
      const pair = key.slice(0, -2);
      halves.set(pair, (halves.get(pair) ?? 0) + 1);
    }
    for (const [pair, count] of halves) if (count !== 2) client.violate('pairs', `${pair} is there ${count} times instead of twice`);
    for (const pair of acknowledgedBefore) if (!halves.has(pair)) client.violate('pairs', `${pair} was acknowledged and is gone`);
  }

  /** What all shards store is what their owners show: no document is on two shards. */
  async #checkStored(client: SimClient, shown: ClientAnswer): Promise<void> {
    const counted = await client.ask(client.anyShard(), { method: 'GET', path: `/_api/collection/${collection}/count` });
    if (counted.kind !== 'answer' || counted.status >= 300 || shown.kind !== 'answer' || shown.status >= 300) return;
    const { count } = counted.body as { readonly count: number };
    const { length } = resultOf(shown);
    if (count !== length) client.violate('ownership', `${count} documents are stored, their owners show ${length}`);
  }
}

const resultOf = (answer: ClientAnswer): readonly string[] =>
  answer.kind === 'answer' ? (answer.body as { readonly result: readonly string[] }).result : [];
