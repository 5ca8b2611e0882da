import { questionText, simQuestions } from '../cluster/SimScript.js';
import type { SimShard } from '../cluster/SimShard.js';
import { ToyEmbeddingBackend } from '../engine/index.js';
import { effectOf } from './effectOf.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

const textsMax = 6;
const query = "FOR text IN @texts RETURN EMBED('default', text)";

/** Texts embedded on any shard: every row has the vector of its own text. */
export class EmbedWorkload implements Workload {
  readonly weight = 1;
  readonly #model = new ToyEmbeddingBackend();

  async setUp(): Promise<void> {}

  async step(client: SimClient): Promise<void> {
    await this.#embed(client, client.anyShard());
  }

  async verify(client: SimClient): Promise<void> {
    for (const shard of client.cluster.shards) {
      if (!(await this.#embed(client, shard))) client.violate('liveness', `${shard.shardId} does not embed after all is healed`);
    }
  }

  async #embed(client: SimClient, shard: SimShard): Promise<boolean> {
    const texts = Array.from({ length: 1 + client.random.below(textsMax) }, () => questionText(client.random.pick(simQuestions)));
    const answer = await client.query(shard, query, { texts });
    if (answer.kind !== 'answer' || effectOf(answer) !== 'done') return false;
    const { result } = answer.body as { readonly result: readonly (readonly number[])[] };
    const wrong = texts.find((text, i) => !isNear(result[i] ?? [], this.#vectorOf(text)));
    if (wrong !== undefined || result.length !== texts.length) client.violate('embed', `${wrong ?? texts.length} has not its own vector`);
    client.cluster.world.reach('texts embedded');
    return true;
  }

  #vectorOf(text: string): Float32Array {
    return this.#model.embed([this.#model.tokenize(text)])[0] as Float32Array;
  }
}

const isNear = (left: readonly number[], right: Float32Array): boolean =>
  left.length === right.length && left.every((value, i) => Math.abs(value - (right[i] as number)) < 1e-6);
