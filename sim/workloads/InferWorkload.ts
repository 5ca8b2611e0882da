import { checkInferred } from '../checkers/checkInferred.js';
import { questionText, simAdapters, simQuestions } from '../cluster/SimScript.js';
import type { SimShard } from '../cluster/SimShard.js';
import type { ClientAnswer } from './ClientAnswer.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

interface InferRow {
  readonly text: string;
  readonly adapter: string | null;
  readonly routing: { readonly decision: string };
}

interface ErrorRow {
  readonly error: true;
  readonly name: string;
}

const batchMax = 9;
const options = 'OPTIONS {max_tokens: 40, detail: true, on_error: "entry"}';

/** INFER over one row and over many, with a domain and without: every row answered once, in order, with the scripted answer. */
export class InferWorkload implements Workload {
  readonly weight = 2;

  async setUp(): Promise<void> {}

  async step(client: SimClient): Promise<void> {
    const count = client.random.chance(0.4) ? 1 : 2 + client.random.below(batchMax - 1);
    const domain = client.random.pick([undefined, ...simAdapters.map((adapter) => adapter.domain)]);
    await this.#infer(client, client.anyShard(), { domain, questions: draw(client, count) });
  }

  async verify(client: SimClient): Promise<void> {
    for (const shard of client.cluster.shards) {
      for (const { domain, digest } of simAdapters) {
        const rows = await this.#infer(client, shard, { domain, questions: draw(client, 4) });
        const isServed = client.cluster.shards.some(({ adapters }) => adapters.some((adapter) => adapter.digest === digest));
        const wrong = rows?.find((row) => 'error' in row || (row.routing.decision === 'domain') !== isServed);
        if (rows && !wrong) continue;
        const what = wrong === undefined ? 'no answer' : JSON.stringify(wrong);
        client.violate(
          'routing',
          `${shard.shardId} after all is healed, domain ${domain} (${isServed ? 'served' : 'not served'}): ${what}`,
        );
      }
    }
  }

  async #infer(
    client: SimClient,
    shard: SimShard,
    batch: { readonly domain: string | undefined; readonly questions: readonly number[] },
  ): Promise<readonly (InferRow | ErrorRow)[] | undefined> {
    const domainPart = batch.domain === undefined ? '' : `DOMAIN '${batch.domain}'`;
    const answer = await client.query(shard, `FOR q IN @questions RETURN INFER 'default' q ${domainPart} ${options}`, {
      questions: batch.questions.map(questionText),
    });
    const rows = rowsOf(answer);
    if (rows === undefined) return undefined;
    if (rows.length !== batch.questions.length) client.violate('batch', `${batch.questions.length} rows got ${rows.length} answers`);
    for (const [i, row] of rows.entries()) this.#checkRow(client, row, { question: batch.questions[i] as number, domain: batch.domain });
    return rows;
  }

  #checkRow(client: SimClient, row: InferRow | ErrorRow, asked: { readonly question: number; readonly domain: string | undefined }): void {
    if ('error' in row) {
      if (row.name === 'INTERNAL' || row.name === 'PROTOCOL_VIOLATION') client.violate('batch', `an entry failed: ${JSON.stringify(row)}`);
      return;
    }
    const { text, adapter, routing } = row;
    const wrong = checkInferred({ ...asked, text, adapterDigest: adapter, decision: routing.decision, isWhole: true });
    if (wrong !== undefined) client.violate('batch', wrong);
  }
}

const draw = (client: SimClient, count: number): readonly number[] => {
  const pool = [...simQuestions];
  return Array.from({ length: count }, () => pool.splice(client.random.below(pool.length), 1)[0] as number);
};

const rowsOf = (answer: ClientAnswer): readonly (InferRow | ErrorRow)[] | undefined =>
  answer.kind === 'answer' && answer.status < 300
    ? (answer.body as unknown as { readonly result: readonly (InferRow | ErrorRow)[] }).result
    : undefined;
