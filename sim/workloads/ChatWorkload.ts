import { OstrakaError, utf8 } from '../../src/base/index.js';
import { checkInferred } from '../checkers/checkInferred.js';
import { questionText, simAdapters, simQuestions } from '../cluster/SimScript.js';
import type { SimShard } from '../cluster/SimShard.js';
import type { SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

interface ChunkEvent {
  readonly choices?: readonly { readonly delta: { readonly content?: string }; readonly finish_reason: string | null }[];
  readonly ostraka?: { readonly adapter: string | null; readonly routing: { readonly decision: string } };
  readonly error?: { readonly code: string };
}

/** A streamed answer as far as it came. */
interface Streamed {
  text: string;
  adapterDigest: string | null;
  decision: string | undefined;
  finishes: number;
  dones: number;
  errors: string[];
}

const patienceMs = 8_000;
const cancelMsMax = 400;
/** What some chats begin with: rows of it are worth moving to another shard. */
const shared = 'All of these are questions about the shards of a cluster that is simulated, and each of them has one answer. '.repeat(2);

/** A slow reader waits so long after each piece. */
const slowMsMax = 250;

/** Streamed chat completions, some given up in the middle: the pieces make the scripted answer, and a stream has one end. */
export class ChatWorkload implements Workload {
  readonly weight = 2;

  async setUp(): Promise<void> {}

  async step(client: SimClient): Promise<void> {
    const cancelMs = client.random.chance(0.4) ? client.random.between(1, cancelMsMax) : undefined;
    await this.#chat(client, client.anyShard(), {
      cancelMs,
      pauseMs: client.random.chance(0.25) ? client.random.between(0, slowMsMax) : 0,
    });
  }

  async verify(client: SimClient): Promise<void> {
    for (const shard of client.cluster.shards) {
      const streamed = await this.#chat(client, shard, { cancelMs: undefined, pauseMs: 0 });
      if (streamed?.dones !== 1) client.violate('liveness', `${shard.shardId} does not finish a chat after all is healed`);
    }
  }

  async #chat(
    client: SimClient,
    shard: SimShard,
    reader: { readonly cancelMs: number | undefined; readonly pauseMs: number },
  ): Promise<Streamed | undefined> {
    const question = client.random.pick(simQuestions);
    const beginning = client.random.chance(0.5) ? shared : '';
    const domain = client.random.pick([undefined, ...simAdapters.map((adapter) => adapter.domain)]);
    const body = {
      model: 'default',
      messages: [{ role: 'user', content: `${beginning}${questionText(question)}` }],
      ...(domain === undefined ? {} : { domain }),
      max_tokens: 40,
      temperature: 0,
      stream: true,
    };
    client.cluster.world.note(`client ${client.name} chat ${question} at ${shard.shardId}`);
    const streamed = await this.#stream(client, shard, { body, limitMs: reader.cancelMs ?? patienceMs, pauseMs: reader.pauseMs });
    if (streamed === undefined) return undefined;
    client.cluster.world.note(`client ${client.name} chat ${JSON.stringify(streamed)}`);
    const wrong = wrongOf(streamed, { question, domain });
    if (wrong !== undefined) client.violate('chat', wrong);
    return streamed;
  }

  /** Undefined when no stream came about. */
  async #stream(
    client: SimClient,
    shard: SimShard,
    request: { readonly body: object; readonly limitMs: number; readonly pauseMs: number },
  ): Promise<Streamed | undefined> {
    const left = new AbortController();
    const timer = client.cluster.clock.setTimer(request.limitMs, () => left.abort());
    const streamed: Streamed = { text: '', adapterDigest: null, decision: undefined, finishes: 0, dones: 0, errors: [] };
    try {
      const answer = await client.open(shard, { method: 'POST', path: '/v1/chat/completions', body: request.body as never }, left.signal);
      if (answer.status !== 200) return undefined;
      for await (const piece of answer.body) {
        for (const event of eventsOf(piece)) take(streamed, event);
        if (request.pauseMs > 0) await client.sleep(request.pauseMs);
      }
    } catch (error) {
      if (!(error instanceof OstrakaError)) throw error;
      if (streamed.decision === undefined) return undefined;
      // After [DONE] the answer is whole, whatever becomes of the connection.
      if (streamed.dones === 0) streamed.errors.push(error.code);
    } finally {
      timer.cancel();
    }
    return streamed;
  }
}

const eventsOf = (piece: Uint8Array): readonly string[] =>
  utf8
    .decode(piece)
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));

const take = (streamed: Streamed, event: string): void => {
  if (event === '[DONE]') {
    streamed.dones++;
    return;
  }
  const { choices, ostraka, error } = JSON.parse(event) as ChunkEvent;
  if (error) streamed.errors.push(error.code);
  if (ostraka) {
    streamed.adapterDigest = ostraka.adapter;
    streamed.decision = ostraka.routing.decision;
  }
  for (const { delta, finish_reason } of choices ?? []) {
    streamed.text += delta.content ?? '';
    if (finish_reason !== null) streamed.finishes++;
  }
};

const wrongOf = (streamed: Streamed, asked: { readonly question: number; readonly domain: string | undefined }): string | undefined => {
  const { text, adapterDigest, decision = 'none', finishes, dones, errors } = streamed;
  const isWhole = dones === 1;
  if (dones + errors.length !== 1) return `a stream has ${dones} ends and errors ${errors.join(',')}`;
  if (finishes > 1 || (isWhole && finishes !== 1)) return `a stream has ${finishes} finish reasons`;
  return checkInferred({ ...asked, text, adapterDigest, decision, isWhole });
};
