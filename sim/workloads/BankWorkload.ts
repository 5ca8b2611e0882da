import type { ClientAnswer } from './ClientAnswer.js';
import { effectOf } from './effectOf.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

const collection = 'accounts';
const accountCount = 9;
const openingBalance = 100;
const total = accountCount * openingBalance;

interface Account {
  readonly key: string;
  readonly balance: number;
}

const transfer = `
  FOR d IN accounts FILTER d._key IN [@from, @to]
    UPDATE d WITH {balance: d.balance + (d._key == @from ? 0 - @amount : @amount)} IN accounts RETURN NEW._key`;

/** Transfers between accounts on several shards: in every snapshot the money is all there, once. */
export class BankWorkload implements Workload {
  readonly weight = 3;
  readonly #keys = Array.from({ length: accountCount }, (_, i) => `account-${i}`);

  async setUp(client: SimClient): Promise<void> {
    await client.ask(client.anyShard(), { method: 'POST', path: '/_api/collection', body: { name: collection } });
    const answer = await client.query(
      client.anyShard(),
      'FOR key IN @keys INSERT {_key: key, balance: @balance} INTO accounts RETURN NEW._key',
      { keys: this.#keys, balance: openingBalance },
    );
    if (effectOf(answer) !== 'done') client.violate('setup', `accounts could not be opened: ${JSON.stringify(answer)}`);
  }

  async step(client: SimClient): Promise<void> {
    if (client.random.chance(0.5)) await this.#transfer(client);
    else this.#check(client, await this.#read(client));
  }

  async verify(client: SimClient): Promise<void> {
    for (const shard of client.cluster.shards) {
      const answer = await client.query(shard, 'FOR d IN accounts RETURN {key: d._key, balance: d.balance}', {});
      if (effectOf(answer) !== 'done') client.violate('liveness', `accounts cannot be read after all is healed: ${JSON.stringify(answer)}`);
      this.#check(client, answer);
    }
    const last = await this.#transfer(client);
    if (effectOf(last) !== 'done') client.violate('liveness', `no transfer after all is healed: ${JSON.stringify(last)}`);
    this.#check(client, await this.#read(client));
  }

  async #transfer(client: SimClient): Promise<ClientAnswer> {
    const from = client.random.pick(this.#keys);
    const to = client.random.pick(this.#keys.filter((key) => key !== from));
    const answer = await client.query(client.anyShard(), transfer, { from, to, amount: 1 + client.random.below(20) });
    if (answer.kind === 'answer' && answer.status < 300) {
      const { result } = answer.body as { readonly result: readonly string[] };
      if (result.length !== 2) client.violate('bank', `a transfer changed ${result.length} accounts`);
    }
    return answer;
  }

  #read(client: SimClient): Promise<ClientAnswer> {
    return client.query(client.anyShard(), 'FOR d IN accounts RETURN {key: d._key, balance: d.balance}', {});
  }

  #check(client: SimClient, answer: ClientAnswer): void {
    if (answer.kind !== 'answer' || answer.status >= 300) return;
    const { result } = answer.body as unknown as { readonly result: readonly Account[] };
    const sum = result.reduce((money, { balance }) => money + balance, 0);
    const keys = new Set(result.map(({ key }) => key));
    if (sum === total && keys.size === accountCount && result.length === accountCount) return;
    client.violate('bank', `a snapshot holds ${sum} in ${result.length} accounts instead of ${total} in ${accountCount}`);
  }
}
