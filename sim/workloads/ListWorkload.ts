import { checkTransactions } from '../checkers/checkTransactions.js';
import type { ListTransaction } from '../checkers/ListTransaction.js';
import { effectOf } from './effectOf.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

const collection = 'lists';
const listCount = 7;
const keysMax = 3;

interface Read {
  readonly key: string;
  readonly values: readonly number[];
}

const readLists = 'FOR d IN lists FILTER d._key IN @reads RETURN {key: d._key, values: d.values}';
const readAndAppend = `
  LET seen = (${readLists})
  FOR d IN lists FILTER d._key IN @writes
    UPDATE d WITH {values: PUSH(d.values, @value)} IN lists
    RETURN {seen, own: {key: d._key, values: OLD.values}}`;

/** Transactions that read some lists and append to others, on any shards: their dependencies must have a serial order. */
export class ListWorkload implements Workload {
  readonly weight = 3;
  readonly #keys = Array.from({ length: listCount }, (_, i) => `list-${i}`);
  readonly #history: ListTransaction[] = [];
  #values = 0;

  async setUp(client: SimClient): Promise<void> {
    await client.ask(client.anyShard(), { method: 'POST', path: '/_api/collection', body: { name: collection } });
    const answer = await client.query(client.anyShard(), 'FOR key IN @keys INSERT {_key: key, values: []} INTO lists', {
      keys: this.#keys,
    });
    if (effectOf(answer) !== 'done') client.violate('setup', `lists could not be made: ${JSON.stringify(answer)}`);
  }

  async step(client: SimClient): Promise<void> {
    if (client.random.chance(0.3)) await this.#read(client, this.#draw(client));
    else await this.#append(client, this.#draw(client), this.#draw(client));
  }

  async verify(client: SimClient): Promise<void> {
    const isRead = await this.#read(client, this.#keys);
    if (!isRead) client.violate('liveness', 'lists cannot be read after all is healed');
    const { clockSlackMs } = client.cluster;
    const verdict = checkTransactions(this.#history, { slackMs: clockSlackMs });
    client.cluster.world.note(`checker transactions ${this.#history.length} ${verdict.kind}`);
    if (verdict.kind === 'violation') client.violate('transactions', verdict.why);
    for (const { outcome } of this.#history) client.cluster.world.reach(`list transaction ${outcome}`);
  }

  async #read(client: SimClient, keys: readonly string[]): Promise<boolean> {
    const invokedMs = client.nowMs;
    const answer = await client.query(client.anyShard(), readLists, { reads: keys });
    if (answer.kind !== 'answer' || answer.status >= 300) return false;
    const { result } = answer.body as unknown as { readonly result: readonly Read[] };
    this.#history.push({
      name: this.#name(),
      outcome: 'done',
      reads: complete(keys, result),
      appends: [],
      invokedMs,
      returnedMs: client.nowMs,
    });
    return true;
  }

  async #append(client: SimClient, reads: readonly string[], writes: readonly string[]): Promise<void> {
    const value = ++this.#values;
    const invokedMs = client.nowMs;
    const answer = await client.query(client.anyShard(), readAndAppend, { reads, writes, value });
    const outcome = effectOf(answer);
    const returnedMs = outcome === 'unknown' ? Number.POSITIVE_INFINITY : client.nowMs;
    const appends = writes.map((key) => ({ key, value }));
    const seen = answer.kind === 'answer' && outcome === 'done' ? readsOf(reads, answer.body as never) : [];
    this.#history.push({ name: this.#name(), outcome, reads: seen, appends, invokedMs, returnedMs });
  }

  #name(): string {
    return `t${this.#history.length}`;
  }

  #draw(client: SimClient): readonly string[] {
    const pool = [...this.#keys];
    const count = 1 + client.random.below(keysMax);
    return Array.from({ length: count }, () => pool.splice(client.random.below(pool.length), 1)[0] as string);
  }
}

/** A list that an answer lacks was read, too: as one that holds nothing. Lists are never removed. */
const complete = (keys: readonly string[], found: readonly Read[]): readonly Read[] => [
  ...found,
  ...keys.filter((key) => found.every((read) => read.key !== key)).map((key) => ({ key, values: [] })),
];

/** What was read beside the lists appended to; nothing is known of it where none of these was there. */
const readsOf = (
  keys: readonly string[],
  { result }: { readonly result: readonly { readonly seen: readonly Read[]; readonly own: Read }[] },
): readonly Read[] => {
  const [first] = result;
  return first === undefined ? [] : [...complete(keys, first.seen), ...result.map(({ own }) => own)];
};
