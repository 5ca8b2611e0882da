import { questionText, simQuestions } from '../cluster/SimScript.js';
import type { SimShard } from '../cluster/SimShard.js';
import { ToyEmbeddingBackend } from '../engine/index.js';
import type { ClientAnswer } from './ClientAnswer.js';
import { effectOf } from './effectOf.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

const rows = 24;
const collection = 'embedded';
const statement = `LLM EMBED 'default' FOR d IN ${collection} FROM d.text INTO vector`;

interface Row {
  readonly key: string;
  readonly text: string;
  readonly vector: readonly number[] | null;
}

/** Rows whose texts change while statements embed them, under every fault: in the end each has the vector of the text it has (R28). */
export class EmbedRowsWorkload implements Workload {
  readonly weight = 1;
  readonly #model = new ToyEmbeddingBackend();
  #texts = 0;

  async setUp(client: SimClient): Promise<void> {
    const shard = client.anyShard();
    await client.ask(shard, { method: 'POST', path: '/_api/collection', body: { name: collection } });
    const documents = Array.from({ length: rows }, (_, i) => ({ _key: `r${i}`, text: this.#newText(client) }));
    await client.query(shard, `FOR d IN @documents INSERT d INTO ${collection}`, { documents });
  }

  async step(client: SimClient): Promise<void> {
    if (client.random.chance(0.7)) await this.#write(client);
    else if (client.random.chance(0.3)) await client.query(client.anyShard(), `${statement} OPTIONS {background: true}`, {});
    else note(client, await client.query(client.anyShard(), statement, {}));
  }

  async verify(client: SimClient): Promise<void> {
    for (const shard of client.cluster.shards) {
      const answer = await client.query(shard, statement, {});
      if (effectOf(answer) !== 'done') client.violate('liveness', `${shard.shardId} does not embed rows after all is healed`);
      await this.#checkRows(client, shard);
    }
    await this.#checkQuiet(client);
  }

  async #write(client: SimClient): Promise<void> {
    const bindVars = { key: `r${client.random.below(rows)}`, text: this.#newText(client) };
    await client.query(client.anyShard(), `UPDATE @key WITH {text: @text} IN ${collection}`, bindVars);
  }

  #newText(client: SimClient): string {
    return `${questionText(client.random.pick(simQuestions))} ${++this.#texts}`;
  }

  async #checkRows(client: SimClient, shard: SimShard): Promise<void> {
    const query = `FOR d IN ${collection} RETURN {key: d._key, text: d.text, vector: d.vector}`;
    const answer = await client.query(shard, query, {});
    if (answer.kind !== 'answer' || answer.status >= 300) return client.violate('liveness', `${shard.shardId} does not read embedded rows`);
    const { result } = answer.body as unknown as { readonly result: readonly Row[] };
    if (result.length !== rows) client.violate('embed rows', `${shard.shardId} has ${result.length} rows instead of ${rows}`);
    const wrong = result.filter((row) => !this.#isRight(row)).map(({ key }) => key);
    if (wrong.length > 0) client.violate('embed rows', `${shard.shardId}: ${wrong} have not the vectors of their texts`);
  }

  /** A job that was noted has ended with the statement that waited for it, and is not noted any more. */
  async #checkQuiet(client: SimClient): Promise<void> {
    const answer = await client.ask(client.anyShard(), { method: 'GET', path: '/_ostraka/jobs' });
    if (answer.kind !== 'answer' || answer.status >= 300) return client.violate('liveness', 'no shard tells of its jobs');
    const { jobs, unreachable } = answer.body as {
      readonly jobs: readonly { readonly state: string }[];
      readonly unreachable: readonly string[];
    };
    const open = jobs.filter(({ state }) => state === 'running' || state === 'waiting');
    if (open.length > 0 || unreachable.length > 0)
      client.violate('embed rows', `jobs that have not ended: ${JSON.stringify(open)}; no answer of ${unreachable}`);
  }

  #isRight({ text, vector }: Row): boolean {
    const [own] = this.#model.embed([this.#model.tokenize(text)]) as [Float32Array];
    return vector !== null && vector.length === own.length && vector.every((value, i) => Math.abs(value - (own[i] as number)) < 1e-6);
  }
}

interface ShardRow {
  readonly embedded: number;
  readonly current: number;
  readonly again: number;
}

const note = (client: SimClient, answer: ClientAnswer): void => {
  if (answer.kind !== 'answer' || answer.status >= 300) return;
  const { result } = answer.body as unknown as { readonly result: readonly ShardRow[] };
  client.cluster.world.reach('rows embedded');
  if (result.some(({ embedded, current }) => embedded > 0 && current > 0))
    client.cluster.world.reach('rows embedded where others were current');
  if (result.some(({ again }) => again > 0)) client.cluster.world.reach('rows embedded again');
};
