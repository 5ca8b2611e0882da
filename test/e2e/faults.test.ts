import { Database } from 'arangojs';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClusterShard, LocalCluster } from '../support/LocalCluster.js';

interface ClusterView {
  readonly shards: readonly { readonly id: string; readonly ready: boolean; readonly health: string; readonly incarnation: number }[];
  readonly loads: { readonly [shard: string]: { readonly sequencesBusy: number; readonly pendingLlmRequests: number } | null };
}

describe('faults on real processes', () => {
  let cluster: LocalCluster;
  const shard = (id: string): ClusterShard => cluster.shards.find((one) => one.id === id) as ClusterShard;
  const newest = (id: string): ClusterShard => {
    const event = cluster.events.findLast((one) => one.event === 'shard-ready' && one.id === id);
    return (event as ClusterShard | undefined) ?? shard(id);
  };
  const view = async (id: string): Promise<ClusterView> =>
    (await fetch(`${shard(id).url}/_admin/ostraka/cluster`)).json() as Promise<ClusterView>;
  const allReady = (): Promise<true> =>
    LocalCluster.until(async () => {
      const views = await Promise.all(['shard-0', 'shard-1', 'shard-2'].map((id) => view(id).catch(() => undefined)));
      return views.every((one) => one?.shards.every(({ ready, health }) => ready && health === 'alive')) ? true : undefined;
    }, 90_000);
  const ask = async (id: string, body: object): Promise<Response> =>
    fetch(`${shard(id).url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'default',
        messages: [{ role: 'user', content: 'Who approves a contract over 50,000 euros?' }],
        temperature: 0,
        ...body,
      }),
    });

  beforeAll(async () => {
    cluster = await LocalCluster.start({ args: ['--sample', '--context', '1024'] });
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  it('keeps every acknowledged write when a shard is killed under load, refuses its rows meanwhile with a typed 503, and goes on with what it embeds in the background (R7, R28, R30)', async () => {
    const db = new Database({ url: shard('shard-1').url, databaseName: 'sample' });
    const items = await db.createCollection('writes');
    const acknowledged = new Set<string>();
    const errors = new Set<string>();
    let isOver = false;
    const writer = async (name: number): Promise<void> => {
      for (let i = 0; !isOver; i++) {
        const key = `w${name}-${i}`;
        try {
          await items.save({ _key: key, i });
          acknowledged.add(key);
        } catch (error) {
          errors.add(String((error as { response?: { parsedBody?: { ostrakaCode?: string } } }).response?.parsedBody?.ostrakaCode));
        }
      }
    };
    const writers = Promise.all([0, 1, 2, 3].map(writer));
    await LocalCluster.until(() => (acknowledged.size > 400 ? true : undefined), 20_000);
    const embedding = "LLM EMBED 'default' FOR d IN passages FROM LEFT(d.text, 40) INTO own OPTIONS {background: true}";
    const noted = await (await db.query(embedding)).all();
    expect(noted.map(({ state }: { state: string }) => state)).toEqual(['running', 'running', 'running']);
    process.kill(shard('shard-2').pid, 'SIGKILL');
    await expect(db.query('FOR d IN passages RETURN d._key').then((cursor) => cursor.all())).rejects.toMatchObject({
      code: 503,
      response: { parsedBody: { ostrakaCode: 'SHARD_UNAVAILABLE' } },
    });
    await allReady();
    isOver = true;
    await writers;
    expect([...errors].every((code) => code === 'SHARD_UNAVAILABLE' || code === 'BREAKER_OPEN')).toBe(true);
    const stored = new Set(await (await db.query('FOR d IN writes RETURN d._key')).all());
    expect([...acknowledged].filter((key) => !stored.has(key))).toEqual([]);
    const bare = async () => (await (await db.query('RETURN LENGTH(FOR d IN passages FILTER d.own_of == null RETURN 1)')).all())[0];
    await LocalCluster.until(async () => ((await bare()) === 0 ? true : undefined), 20_000);
    expect(acknowledged.size).toBeGreaterThan(400);
  });

  it('starts a killed engine again within 5 s while the shard serves data, and requests are retried or fail typed (R18)', async () => {
    await allReady();
    const { enginePid } = newest('shard-1');
    const running = Promise.all(Array.from({ length: 4 }, () => ask('shard-1', { max_tokens: 24 }).then((response) => response.json())));
    process.kill(enginePid, 'SIGKILL');
    const killedMs = performance.now();
    expect((await fetch(`${shard('shard-1').url}/_db/sample/_api/document/passages/legal-001`)).status).toBe(200);
    for (const answer of (await running) as { choices?: unknown; error?: { code: string } }[]) {
      expect(answer.choices !== undefined || ['engine_lost', 'engine_loading'].includes(answer.error?.code ?? '')).toBe(true);
    }
    await LocalCluster.until(async () => ((await fetch(`${shard('shard-1').url}/health/ready`)).status === 200 ? true : undefined), 10_000);
    expect(performance.now() - killedMs).toBeLessThan(5_000);
    await allReady();
  });

  it('frees the slot of a client that goes away in mid-stream', async () => {
    const client = new OpenAI({ baseURL: `${shard('shard-0').url}/v1`, apiKey: 'none', maxRetries: 0 });
    const stream = await client.chat.completions.create({
      model: 'default',
      messages: [{ role: 'user', content: 'Tell a long story.' }],
      max_tokens: 500,
      stream: true,
    });
    let chunks = 0;
    for await (const _ of stream) {
      if (++chunks < 5) continue;
      stream.controller.abort();
      break;
    }
    const busy = (view: ClusterView): number =>
      Object.values(view.loads).reduce((sum, load) => sum + (load?.sequencesBusy ?? 0) + (load?.pendingLlmRequests ?? 0), 0);
    await LocalCluster.until(async () => (busy(await view('shard-0')) === 0 ? true : undefined), 5_000);
  });

  it('ends a stream of a killed shard with a typed event, answers the next request by a fallback, and the domain returns by itself (R24, R30)', async () => {
    await allReady();
    const legal = newest('shard-0');
    const stream = await ask('shard-1', {
      domain: 'legal',
      stream: true,
      max_tokens: 400,
      temperature: 1.2,
      seed: 3,
      messages: [{ role: 'user', content: 'Write a long poem about the sea, the wind and ropes.' }],
    });
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let text = '';
    while (!/"content":"[^"]+"/.test(text)) text += decoder.decode((await reader.read()).value);
    process.kill(legal.pid, 'SIGKILL');
    const killedMs = performance.now();
    const next = (await (await ask('shard-1', { domain: 'legal', max_tokens: 1 })).json()) as {
      choices: unknown[];
      ostraka: { shard: string; routing: { decision: string } };
    };
    expect(next.choices).toHaveLength(1);
    expect(next.ostraka.shard).not.toBe('shard-0');
    expect(next.ostraka.routing.decision).not.toBe('domain');
    expect(performance.now() - killedMs).toBeLessThan(1_000);
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value);
    expect(text).toContain('"code":"stream_interrupted"');
    expect(text).not.toContain('[DONE]');
    await allReady();
    const again = await LocalCluster.until(async () => {
      const answer = (await (await ask('shard-1', { domain: 'legal', max_tokens: 16 })).json()) as typeof next & {
        choices: [{ message: { content: string } }];
      };
      return answer.ostraka?.routing.decision === 'domain' ? answer : undefined;
    }, 20_000);
    expect(again.choices[0].message.content).toBe('Ottilie Brandmayr');
  });
});
