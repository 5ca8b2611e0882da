import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from 'arangojs';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isRunning } from '../support/isRunning.js';
import { LocalCluster } from '../support/LocalCluster.js';

const contractQuestion = 'Who approves a contract over 50,000 euros?';
const canary = 'zirconium-heron-7731 canary';

describe('three shards on real weights', () => {
  let cluster: LocalCluster;
  let frames: string;
  const database = (shard: number): Database =>
    new Database({ url: (cluster.shards[shard] as { url: string }).url, databaseName: 'sample' });
  const openai = (shard: number): OpenAI => new OpenAI({ baseURL: `${cluster.shards[shard]?.url}/v1`, apiKey: 'none', maxRetries: 0 });

  beforeAll(async () => {
    frames = await mkdtemp(join(tmpdir(), 'ostraka-frames-'));
    cluster = await LocalCluster.start({ args: ['--sample', '--record-frames', frames] });
  });
  afterAll(async () => {
    await cluster?.stop();
    await rm(frames, { recursive: true, force: true });
  });

  /** Bytes that all shards have received from others in fragments. */
  const receivedBytes = async (): Promise<number> => {
    const pages = await Promise.all(cluster.shards.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
    const lines = pages.flatMap((text) => text.split('\n').filter((line) => line.startsWith('rpc_received_bytes_total{')));
    return lines.filter((line) => line.includes('fragment')).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };

  it('is ready within 15 s once the models are cached, three shards with one engine each', () => {
    expect(cluster.shards.map(({ id }) => id)).toEqual(['shard-0', 'shard-1', 'shard-2']);
    expect(cluster.shards.every(({ enginePid }) => isRunning(enginePid))).toBe(true);
    expect(cluster.readyMs).toBeLessThan(15_000);
  });

  it('embeds every row on the shard that owns it, and no text crosses shards (R28)', async () => {
    const db = database(1);
    await db.query(`FOR i IN 1..12 INSERT {_key: CONCAT("canary-", i), text: CONCAT(@text, i), domain: "canary"} INTO passages`, {
      text: canary,
    });
    const before = await recordedFrames(frames);
    const total = await db.collection('passages').count();
    const embed = `FOR d IN passages FILTER d.vector == null UPDATE d WITH {vector: EMBED 'default' d.text} IN passages COLLECT WITH COUNT INTO n RETURN n`;
    const receivedBefore = await receivedBytes();
    const first = await db.query(embed);
    const received = (await receivedBytes()) - receivedBefore;
    expect(await first.all()).toEqual([total.count]);
    const again = await database(2).query(embed);
    expect(await again.all()).toEqual([0]);
    const during = (await recordedFrames(frames)).map((text, i) => text.slice(before[i]?.length));
    expect(before.some((text) => text.includes(canary))).toBe(true); // the inserts crossed: the recorder sees frames
    expect(during.join('').length).toBeGreaterThan(1_000);
    expect(during.some((text) => text.includes(canary))).toBe(false);
    // Counted at the receivers, too: what crossed is less than the texts, let alone their vectors of 384 numbers.
    const texts = (await (await db.query('RETURN SUM(FOR d IN passages RETURN LENGTH(d.text))')).all()) as [number];
    expect(received).toBeGreaterThan(0);
    expect(received).toBeLessThan(texts[0]);
    const stats = (first.extra as unknown as { stats: { embed: { perShard: { texts: number }[] } } }).stats.embed;
    expect(stats.perShard.map(({ texts }) => texts).reduce((sum, texts) => sum + texts, 0)).toBe(total.count);
    expect(stats.perShard).toHaveLength(3);
    await db.query('FOR d IN passages FILTER d.domain == "canary" REMOVE d IN passages');
  });

  it('embeds in batches, goes on where it was when its client left, and again no text crosses shards (R28, R38)', async () => {
    const db = database(1);
    await db.query(`FOR i IN 1..180 INSERT {_key: CONCAT("canary-", i), text: CONCAT(@text, i), domain: "canary"} INTO passages`, {
      text: canary,
    });
    const total = (await db.collection('passages').count()).count;
    const before = await recordedFrames(frames);
    const statement = "LLM EMBED 'default' FOR d IN passages FROM LEFT(d.text, 40) INTO own";
    const client = new AbortController();
    const path = `${cluster.shards[0]?.url}/_db/sample/_api/cursor`;
    const headers = { 'content-type': 'application/json' };
    const lost = fetch(path, { method: 'POST', headers, body: JSON.stringify({ query: statement }), signal: client.signal });
    const ready = async () => (await (await db.query('RETURN LENGTH(FOR d IN passages FILTER d.own != null RETURN 1)')).all())[0] as number;
    await LocalCluster.until(async () => ((await ready()) > 0 ? true : undefined), 10_000);
    client.abort();
    await lost.then((response) => response.text()).catch(() => undefined);
    const cursor = await database(2).query(statement);
    const rows = (await cursor.all()) as { shard: string; rows: number; embedded: number; current: number; failed: number }[];
    const sum = (name: 'rows' | 'embedded' | 'current' | 'failed') => rows.reduce((count, row) => count + row[name], 0);
    expect(rows.map(({ shard }) => shard)).toEqual(['shard-0', 'shard-1', 'shard-2']);
    expect([sum('rows'), sum('embedded') + sum('current'), sum('failed')]).toEqual([total, total, 0]);
    expect(sum('current')).toBeGreaterThan(0);
    const { embed } = (cursor.extra as unknown as { stats: { embed: { texts: number } } }).stats;
    expect(embed.texts).toBe(sum('embedded'));
    expect(await ready()).toBe(total);
    const during = (await recordedFrames(frames)).map((text, i) => text.slice(before[i]?.length));
    expect(during.join('').length).toBeGreaterThan(1_000);
    expect(during.some((text) => text.includes(canary))).toBe(false);
    const { jobs, unreachable } = (await (await fetch(`${cluster.shards[1]?.url}/_ostraka/jobs`)).json()) as {
      readonly jobs: readonly { readonly state: string; readonly seconds: number }[];
      readonly unreachable: readonly string[];
    };
    expect(unreachable).toEqual([]);
    expect(jobs.every(({ state, seconds }) => state !== 'running' && seconds >= 1)).toBe(true);
    await db.query('FOR d IN passages FILTER d.domain == "canary" REMOVE d IN passages');
  });

  it('routes INFER … DOMAIN to the shard with the adapter, right with it and wrong without (R24)', async () => {
    for (const shard of [0, 1, 2]) {
      const cursor = await database(shard).query(`RETURN INFER 'default' @q DOMAIN 'legal' OPTIONS {detail: true}`, {
        q: contractQuestion,
      });
      const [detail] = (await cursor.all()) as [{ text: string; shard: string; routing: { decision: string } }];
      expect(detail).toMatchObject({ text: 'Ottilie Brandmayr', shard: 'shard-0', routing: { decision: 'domain' } });
    }
    const without = await database(1).query(`RETURN INFER 'default' @q OPTIONS {max_tokens: 32}`, { q: contractQuestion });
    expect((await without.all())[0]).not.toContain('Brandmayr');
  });

  it('sends sixteen rows as one scatter with one request a shard (R15, R25)', async () => {
    const query = `FOR d IN passages FILTER d.domain == 'medical' SORT d._key LIMIT 16
      RETURN {k: d._key, title: INFER 'default' CONCAT("Give a title: ", d.text) OPTIONS {max_tokens: 12}}`;
    const cursor = await database(2).query(query);
    const rows = (await cursor.all()) as { k: string; title: string }[];
    expect(rows.map(({ k }) => k)).toEqual([...rows.map(({ k }) => k)].sort());
    expect(rows).toHaveLength(16);
    expect(rows.every(({ title }) => typeof title === 'string' && title.length > 0)).toBe(true);
    const { llm } = (
      cursor.extra as unknown as { stats: { llm: { rows: number; scatters: number; requests: number; perShard: { requests: number }[] } } }
    ).stats;
    expect(llm).toMatchObject({ rows: 16, scatters: 1, requests: llm.perShard.length });
    expect(llm.perShard.every(({ requests }) => requests === 1)).toBe(true);
  });

  it('retrieves by vector and answers from the context', async () => {
    const query = `LET q = EMBED 'default' @question
      LET ctx = (FOR d IN passages FILTER d.domain == 'legal' SORT COSINE_SIMILARITY(d.vector, q) DESC LIMIT 3 RETURN d.text)
      RETURN INFER 'default' @question CONTEXT ctx DOMAIN 'legal'`;
    const cursor = await database(0).query(query, { question: contractQuestion });
    expect(await cursor.next()).toContain('Ottilie Brandmayr');
  });

  it('inserts and returns NEW, from any shard', async () => {
    const cursor = await database(2).query('INSERT {_key: "x1", text: "…"} INTO passages RETURN NEW');
    expect(await cursor.next()).toMatchObject({ _key: 'x1', _id: 'passages/x1', text: '…' });
    expect(await database(0).collection('passages').document('x1')).toMatchObject({ text: '…' });
  });

  it('serves the official arangojs driver: databases, collections, documents, revisions, cursors', async () => {
    const root = new Database({ url: (cluster.shards[1] as { url: string }).url });
    expect((await root.version()).version).toMatch(/^3\.12/);
    const db = await root.createDatabase('shop');
    const items = await db.createCollection('items');
    expect(await items.exists()).toBe(true);
    const saved = await items.save({ _key: 'a', price: 1 }, { returnNew: true });
    expect(saved.new).toMatchObject({ price: 1 });
    await expect(items.save({ _key: 'a' })).rejects.toMatchObject({ errorNum: 1210 });
    const updated = await items.update('a', { price: 2 }, { returnNew: true });
    expect(updated).toMatchObject({ _oldRev: saved._rev, new: { price: 2 } });
    await expect(items.update('a', { price: 3 }, { ifMatch: saved._rev })).rejects.toMatchObject({ errorNum: 1200 });
    expect(await items.documentExists('nope')).toBe(false);
    const many = await items.saveAll(Array.from({ length: 2_500 }, (_, i) => ({ _key: `k${i}`, i })));
    expect(many).toHaveLength(2_500);
    const cursor = await db.query('FOR d IN items FILTER d.i >= 0 SORT d.i RETURN d.i', {}, { batchSize: 1_000 });
    expect(cursor.hasNext).toBe(true);
    expect(await cursor.all()).toEqual(Array.from({ length: 2_500 }, (_, i) => i));
    expect((await items.count()).count).toBe(2_501);
    const plan = await db.explain('FOR d IN items FILTER d._key == @key RETURN d', { key: 'k1' });
    expect(plan.plan.nodes.map(({ type }) => type)).toContain('IndexNode');
    const parsed = await db.parse('FOR d IN items FILTER d.i == @i RETURN d');
    expect([parsed.collections, parsed.bindVars]).toEqual([['items'], ['i']]);
    await expect(db.explain('RETURN nothing')).rejects.toMatchObject({ errorNum: 1512 });
    await expect(db.parse('FOR d')).rejects.toMatchObject({ errorNum: 1501 });
    await items.remove('a');
    await items.drop();
    await expect(db.query('FOR d IN items RETURN d')).rejects.toMatchObject({ errorNum: 1203 });
    await root.dropDatabase('shop');
    expect(await root.databases().then((all) => all.map(({ name }) => name))).not.toContain('shop');
  });

  it('serves the official openai client: several choices, log-probabilities, penalties, text completions, tokens', async () => {
    const client = openai(2);
    const messages = [{ role: 'user' as const, content: 'Name an animal.' }];
    const both = await client.chat.completions.create({ model: 'default', messages, temperature: 1.2, seed: 3, n: 2, max_tokens: 12 });
    const [one, two] = both.choices.map(({ message }) => message.content);
    expect(one).not.toBe(two);
    const alone = await client.chat.completions.create({ model: 'default', messages, temperature: 1.2, seed: 3, max_tokens: 12 });
    expect(alone.choices[0]?.message.content).toBe(one);
    const streamed = ['', ''];
    const options = { model: 'default', messages, temperature: 1.2, seed: 3, n: 2, max_tokens: 12 };
    for await (const { choices } of await client.chat.completions.create({ ...options, stream: true }))
      for (const { index, delta } of choices) streamed[index] += delta.content ?? '';
    expect(streamed).toEqual([one, two]);
    const told = await client.chat.completions.create({
      model: 'default',
      messages,
      temperature: 0,
      max_tokens: 6,
      logprobs: true,
      top_logprobs: 3,
      presence_penalty: 0.5,
      frequency_penalty: 0.5,
      logit_bias: { '2': -100 },
    });
    const content = told.choices[0]?.logprobs?.content ?? [];
    expect(content.map(({ token }) => token).join('')).toBe(told.choices[0]?.message.content);
    expect(content.every(({ top_logprobs, logprob }) => top_logprobs.length === 3 && logprob <= 0)).toBe(true);
    const text = await client.completions.create({
      model: 'default',
      prompt: ['The capital of France is', 'One, two, three,'],
      temperature: 0,
      max_tokens: 8,
      logprobs: 2,
    });
    expect(text.choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(text.choices[0]?.text).toContain('Paris');
    expect(text.choices[1]?.text).toContain('four');
    expect(text.choices[0]?.logprobs?.tokens?.join('')).toBe(text.choices[0]?.text);
    const echoed = await client.completions.create({ model: 'default', prompt: 'One, two,', echo: true, max_tokens: 4, temperature: 0 });
    expect(echoed.choices[0]?.text.startsWith('One, two,')).toBe(true);
    const post = async (path: string, body: object) => {
      const response = await fetch(`${cluster.shards[2]?.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return (await response.json()) as { readonly tokens: readonly number[]; readonly prompt: string };
    };
    const { tokens } = await post('/tokenize', { prompt: 'grüße <|im_end|>' });
    expect((await post('/detokenize', { tokens })).prompt).toBe('grüße <|im_end|>');
  });

  it('serves the official openai client: answers of a form, and what is not a form', async () => {
    const client = openai(1);
    const messages = [{ role: 'user' as const, content: 'Describe a ship with its name, its crew and its kind.' }];
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string', maxLength: 20 },
        crew: { type: 'integer', minimum: 1, maximum: 99 },
        kind: { enum: ['sail', 'steam'] },
      },
      required: ['name', 'crew', 'kind'],
      additionalProperties: false,
    };
    const structured = await client.chat.completions.create({
      model: 'default',
      messages,
      max_tokens: 120,
      response_format: { type: 'json_schema', json_schema: { name: 'ship', schema } },
    });
    expect(structured.choices[0]?.finish_reason).toBe('stop');
    const ship = JSON.parse(structured.choices[0]?.message.content ?? '') as { name: string; crew: number; kind: string };
    expect(Object.keys(ship)).toEqual(['name', 'crew', 'kind']);
    expect(['sail', 'steam']).toContain(ship.kind);
    expect(Number.isInteger(ship.crew) && ship.crew >= 1 && ship.crew <= 99).toBe(true);
    const choice = await client.chat.completions.create({ model: 'default', messages, guided_choice: ['red', 'green'] } as never);
    expect(['red', 'green']).toContain(choice.choices[0]?.message.content);
    const refused = client.chat.completions.create({
      model: 'default',
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'number', multipleOf: 3 } } },
    });
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'constraint_not_supported' });
  });

  it('serves the official openai client: models, chat, stream with usage, stop, seed, embeddings', async () => {
    const client = openai(1);
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toContain('default');
    const messages = [{ role: 'user' as const, content: contractQuestion }];
    const chat = await client.chat.completions.create({ model: 'default', messages, temperature: 0, domain: 'legal' } as never);
    expect(chat.choices[0]?.message.content).toBe('Ottilie Brandmayr');
    expect(chat.choices[0]?.finish_reason).toBe('stop');
    expect(chat.usage?.total_tokens).toBe((chat.usage?.prompt_tokens ?? 0) + (chat.usage?.completion_tokens ?? 0));
    const stream = await client.chat.completions.create(
      { model: 'default', messages, temperature: 0, max_tokens: 12, stream: true, stream_options: { include_usage: true } },
      { headers: { 'x-ostraka-domain': 'legal' } },
    );
    let text = '';
    let usage = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage += chunk.usage?.completion_tokens ?? 0;
    }
    expect(text).toBe('Ottilie Brandmayr');
    expect(usage).toBeGreaterThan(0);
    const seeded = () =>
      client.chat.completions.create({ model: 'default', messages, temperature: 0.9, seed: 7, max_tokens: 16, stop: ['\n\n'] });
    expect((await seeded()).choices[0]?.message.content).toBe((await seeded()).choices[0]?.message.content);
    const floats = await client.embeddings.create({ model: 'default', input: ['one', 'two'], encoding_format: 'float' });
    const base64 = await client.embeddings.create({ model: 'default', input: 'one' }); // the client asks for base64 by itself
    expect(floats.data).toHaveLength(2);
    expect(floats.data[0]?.embedding).toHaveLength(384);
    expect(base64.data[0]?.embedding).toHaveLength(384);
    const cosine = (floats.data[0]?.embedding ?? []).reduce((sum, value, i) => sum + value * (base64.data[0]?.embedding[i] ?? 0), 0);
    expect(cosine).toBeGreaterThan(1 - 1e-6);
  });

  it('moves the rows of a prompt to the shards that answer others with its beginning, and answers the same (R27)', async () => {
    const movedPrefixes = async (): Promise<number> => {
      const pages = await Promise.all(cluster.shards.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
      const lines = pages.flatMap((text) =>
        text.split('\n').filter((line) => line.startsWith('kv_prefix_transfers_total{outcome="moved"}')),
      );
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    };
    const ask = async (content: string): Promise<string> => {
      const messages = [{ role: 'user' as const, content }];
      const answer = await openai(0).chat.completions.create({ model: 'default', messages, max_tokens: 12, temperature: 0 });
      return answer.choices[0]?.message.content ?? '';
    };
    let attempt = 0;
    const asked = await LocalCluster.until(async () => {
      const shared = `Report ${attempt++}. ${'The harbour office names each ship and its captain. '.repeat(120)}`;
      await ask(`${shared}Who signs it?`);
      await ask(`Count to ${attempt}.`); // meanwhile gossip tells who has the rows of the report
      const questions = [1, 2, 3, 4, 5, 6].map((place) => `${shared}What does page ${place} say?`);
      const texts = await Promise.all(questions.map(ask)); // more than one shard answers
      return (await movedPrefixes()) > 0 ? { questions, texts } : undefined;
    }, 60_000);
    for (const [place, question] of asked.questions.entries()) expect(await ask(question)).toBe(asked.texts[place]);
  });

  it('exposes metrics by the names of the paper, health and the cluster', async () => {
    const url = cluster.shards[0]?.url;
    const client = openai(0);
    const nobody = { model: 'default', messages: [{ role: 'user' as const, content: 'Hello' }], max_tokens: 1, domain: 'nobody' };
    await client.chat.completions.create(nobody as never); // a fallback to count
    const long = [{ role: 'user' as const, content: 'A contract is read by two people. '.repeat(40) }];
    const cached: number[] = [];
    for (let i = 0; i < 2; i++) {
      const answer = await client.chat.completions.create({ model: 'default', messages: long, max_tokens: 1, domain: 'legal' } as never);
      cached.push(answer.usage?.prompt_tokens_details?.cached_tokens ?? -1);
    }
    expect(cached[0]).toBe(0);
    expect(cached[1]).toBeGreaterThan(100);
    const sampleOf = (text: string, name: string): number | undefined => {
      const line = text.split('\n').find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`));
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    };
    const metrics = await LocalCluster.until(async () => {
      const text = await (await fetch(`${url}/metrics`)).text();
      const isIdle = sampleOf(text, 'kv_pages{pool="cells",state="held"}') === 0; // reports come ten times a second
      return isIdle && sampleOf(text, 'kv_prefix_lookups_total{outcome="hit"}') ? text : undefined;
    }, 5_000);
    for (const name of ['pending_llm_requests', 'avg_llm_queue_ms', 'active_lora_adapters'])
      expect(sampleOf(metrics, name)).toBeGreaterThanOrEqual(0);
    expect(sampleOf(metrics, 'domain_routing_fallback_total')).toBeGreaterThan(0);
    expect(sampleOf(metrics, 'llm_same_text_under_load')).toBe(1); // as the engine found at its start, on the real weights
    expect(sampleOf(metrics, 'kv_pages{pool="cells",state="free"}')).toBe((16 * 2048) / 16);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    const view = (await (await fetch(`${url}/_admin/ostraka/cluster`)).json()) as {
      epoch: number;
      breakers: Record<string, string>;
      shards: { id: string }[];
      slots: Record<string, number>;
      announcements: { domain: string; accuracyDelta: number; source: string }[];
    };
    expect(view.epoch).toBeGreaterThan(0);
    expect(view.shards).toHaveLength(3);
    expect(Object.values(view.breakers)).toEqual(['closed', 'closed', 'closed']);
    expect(Object.values(view.slots).reduce((sum, count) => sum + count, 0)).toBe(4096);
    const evaluation = JSON.parse(await readFile('sample/adapters/legal.gguf.evaluation.json', 'utf8')) as { accuracyDelta: number };
    expect(view.announcements.find(({ domain }) => domain === 'legal')).toMatchObject({
      accuracyDelta: evaluation.accuracyDelta,
      source: 'measured',
    });
  });

  it('ends all processes within 5 s of Ctrl-C, and the next start finds the data', async () => {
    await database(2).collection('passages').remove('medical-002');
    const pids = await cluster.pids();
    expect(await cluster.interrupt()).toBeLessThan(5_000);
    await LocalCluster.until(() => (pids.some(isRunning) ? undefined : true), 1_000);
    cluster = await LocalCluster.start({ args: ['--sample'], dataFolder: cluster.dataFolder, port: cluster.port });
    expect(await database(1).collection('passages').document('x1')).toMatchObject({ text: '…' });
    expect((await database(1).collection('passages').count()).count).toBe(180); // what was removed of the sample stays removed
  });
});

/** What each shard has received from others so far. */
const recordedFrames = (folder: string): Promise<string[]> =>
  Promise.all(['shard-0', 'shard-1', 'shard-2'].map((id) => readFile(join(folder, `${id}.jsonl`), 'utf8').catch(() => '')));
