import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Database } from 'arangojs';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalCluster } from '../support/LocalCluster.js';
import { runCommand } from '../support/runCommand.js';

interface Listed {
  readonly domain: string;
  readonly digest: string;
  readonly scale: number;
  readonly shard: string;
  readonly source: string;
  readonly accuracyDelta: number;
  readonly inUse: boolean;
}

const question = 'Who may enter the drive hall of the Halvenmoor ropeway?';

describe('adapters at run time over HTTP and the command line (R21)', () => {
  let cluster: LocalCluster;
  let folder: string;
  let [first, second] = ['', ''];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ostraka-adapters-'));
    await mkdir(join(folder, 'allowed'));
    for (const domain of ['legal', 'medical']) await copyFile(`sample/adapters/${domain}.gguf`, join(folder, 'allowed', `${domain}.gguf`));
    await copyFile('sample/adapters/legal.gguf.evaluation.json', join(folder, 'allowed', 'legal.gguf.evaluation.json'));
    cluster = await LocalCluster.start({ shards: 2, args: ['--adapter-folder', join(folder, 'allowed'), '--sequences', '4'] });
    [first, second] = cluster.shards.map(({ url }) => url) as [string, string];
  });
  afterAll(async () => {
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const post = async (url: string, path: string, body: object) => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as { error?: { code: string; message: string } } & Partial<Listed> };
  };
  const load = (body: object, url = first) => post(url, '/v1/load_lora_adapter', body);
  const unload = (lora_name: string, url = first) => post(url, '/v1/unload_lora_adapter', { lora_name });
  const list = async (url = first) => ((await (await fetch(`${url}/v1/adapters`)).json()) as { data: Listed[] }).data;
  const modelsOf = async (url: string) =>
    ((await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string; adapters?: object[] }[] }).data;
  const chat = async (model: string, extra: object = {}, url = first) => {
    const answer = await post(url, '/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: question }],
      max_tokens: 12,
      temperature: 0,
      ...extra,
    });
    const { choices, ostraka, error } = answer.body as unknown as {
      choices?: { message: { content: string } }[];
      ostraka?: { shard: string; routing: { decision: string } };
      error?: { code: string };
    };
    return {
      status: answer.status,
      text: choices?.[0]?.message.content,
      shard: ostraka?.shard,
      decision: ostraka?.routing.decision,
      code: error?.code,
    };
  };

  it('loads, lists, answers under the name of the adapter as its domain, unloads, and gives the same answer when loaded again', async () => {
    expect((await chat('legal')).code).toBe('model_unknown');
    const loaded = await load({ lora_name: 'legal', lora_path: 'legal.gguf' });
    const digest = (JSON.parse(await readFile('sample/adapters/legal.gguf.evaluation.json', 'utf8')) as { adapterDigest: string })
      .adapterDigest;
    expect(loaded).toMatchObject({
      status: 200,
      body: { domain: 'legal', digest, scale: 1, shard: 'shard-0', source: 'measured', accuracyDelta: 1 },
    });
    expect(await list()).toMatchObject([{ domain: 'legal', digest, shard: 'shard-0', source: 'measured', inUse: false }]);
    // Before the load was answered every shard knew: none of these waits.
    expect(await list(second)).toEqual(await list());
    expect((await modelsOf(second)).find(({ id }) => id === 'legal')).toMatchObject({
      adapters: [{ digest, scale: 1, shards: ['shard-0'] }],
    });
    expect(await modelsOf(second)).toEqual(await modelsOf(first));
    const base = await chat('default');
    const byModel = await chat('legal', {}, second);
    const byDomain = await chat('default', { domain: 'legal' });
    expect(byModel).toMatchObject({ status: 200, text: byDomain.text, shard: 'shard-0', decision: 'domain' });
    expect(byModel.text).not.toBe(base.text);
    const client = new OpenAI({ baseURL: `${first}/v1`, apiKey: 'none' });
    const names = (await client.models.list()).data.map((one) => [one.id, (one as { parent?: string }).parent]);
    expect(names).toContainEqual(['legal', names[1]?.[0]]);
    expect(await client.models.retrieve('legal')).toMatchObject({ id: 'legal', parent: names[1]?.[0] });

    expect((await unload('legal')).status).toBe(200);
    expect([await list(), await list(second)]).toEqual([[], []]);
    expect((await modelsOf(second)).map(({ id }) => id)).not.toContain('legal');
    expect((await chat('legal')).code).toBe('model_unknown');
    expect((await chat('default', { domain: 'legal' })).text).toBe(base.text);
    expect((await load({ lora_name: 'legal', lora_path: join(folder, 'allowed', 'legal.gguf') })).status).toBe(200);
    expect((await chat('legal')).text).toBe(byModel.text);
  });

  it('takes the same adapter again, and refuses another file or scale under a domain that is taken', async () => {
    expect((await load({ lora_name: 'legal', lora_path: 'legal.gguf' })).status).toBe(200);
    expect(await list()).toHaveLength(1);
    for (const other of [{ lora_path: 'medical.gguf' }, { lora_path: 'legal.gguf', scale: 0.5 }])
      expect(await load({ lora_name: 'legal', ...other })).toMatchObject({
        status: 409,
        body: { error: { code: 'adapter_domain_taken' } },
      });
  });

  it('serves two scales of one file beside each other, named by domain, by digest and by scale; what is not one is a choice', async () => {
    const whole = await chat('legal');
    const { digest = '' } = (await load({ lora_name: 'mild', lora_path: 'legal.gguf', scale: 0.25 })).body;
    const mild = await chat('mild');
    expect([mild.status, mild.text === whole.text]).toEqual([200, false]);
    expect((await list()).map(({ domain, digest: one, scale, source }) => [domain, one, scale, source])).toEqual([
      ['legal', digest, 1, 'measured'],
      ['mild', digest, 0.25, 'declared'],
    ]);
    const named = [`${digest}@1`, `${digest.slice(0, 12)}@0.25`, 'legal@1', 'mild@0.25'];
    expect((await Promise.all(named.map((name) => chat(name)))).map(({ text }) => text)).toEqual([
      whole.text,
      mild.text,
      whole.text,
      mild.text,
    ]);
    const ambiguous = await post(first, '/v1/chat/completions', { model: digest, messages: [{ role: 'user', content: question }] });
    expect([ambiguous.status, ambiguous.body.error?.code]).toEqual([400, 'adapter_ambiguous']);
    expect(ambiguous.body.error?.message).toMatch(/legal \([0-9a-f]{12}@1\), or mild \([0-9a-f]{12}@0.25\)/);
    expect((await unload(digest)).body.error?.code).toBe('adapter_ambiguous');
    expect((await unload(`${digest}@0.25`)).status).toBe(200);
    expect((await chat(digest)).text).toBe(whole.text);
    expect((await chat('mild')).code).toBe('model_unknown');
  });

  it('marks a given accuracyDelta as declared; two domains of one file are freed with the second', async () => {
    expect((await load({ lora_name: 'law', lora_path: 'legal.gguf', accuracyDelta: 0.1 })).body).toMatchObject({
      source: 'declared',
      accuracyDelta: 0.1,
    });
    expect((await unload('legal')).status).toBe(200);
    expect(await chat('law')).toMatchObject({ status: 200, decision: 'domain' }); // below every tier, but asked for by name
    expect((await load({ lora_name: 'legal', lora_path: 'legal.gguf' })).status).toBe(200);
    expect((await unload('law')).status).toBe(200);
    expect((await chat('legal')).status).toBe(200);
  });

  it('refuses what is no adapter of the model, with the reason, and serves on', async () => {
    const bytes = await readFile('sample/adapters/legal.gguf');
    const put = (name: string, content: Uint8Array | string) => writeFile(join(folder, 'allowed', name), content);
    await put('cut.gguf', bytes.subarray(0, bytes.length - 1000));
    await put('text.gguf', 'this is no adapter at all, only a text');
    const other = Buffer.from(bytes);
    other.write('qwen2', other.indexOf('llama'));
    await put('other.gguf', other);
    await copyFile(join(folder, 'allowed', 'medical.gguf'), join(folder, 'allowed', 'judged.gguf'));
    await copyFile('sample/adapters/legal.gguf.evaluation.json', join(folder, 'allowed', 'judged.gguf.evaluation.json'));
    await symlink(resolve('sample/adapters/medical.gguf'), join(folder, 'allowed', 'link.gguf'));
    await copyFile('sample/adapters/medical.gguf', join(folder, 'outside.gguf'));
    const cases: [string, number, string, RegExp][] = [
      ['cut.gguf', 400, 'adapter_invalid', /truncated/],
      ['text.gguf', 400, 'adapter_invalid', /not a GGUF file/],
      ['other.gguf', 400, 'adapter_invalid', /not a LoRA adapter of this model/],
      ['judged.gguf', 400, 'adapter_invalid', /judges another adapter/],
      ['missing.gguf', 400, 'adapter_invalid', /ENOENT/],
      ['../outside.gguf', 403, 'adapter_path_refused', /does not lie below/],
      ['../no/such/file', 403, 'adapter_path_refused', /does not lie below/],
      ['/etc/passwd', 403, 'adapter_path_refused', /does not lie below/],
      ['link.gguf', 403, 'adapter_path_refused', /does not lie below/],
      ['a\0b', 400, 'parameter_bad', /zero byte/],
    ];
    for (const [lora_path, status, code, message] of cases) {
      const answer = await load({ lora_name: 'broken', lora_path });
      expect([lora_path, answer.status, answer.body.error?.code]).toEqual([lora_path, status, code]);
      expect(answer.body.error?.message).toMatch(message);
    }
    expect((await list()).map(({ domain }) => domain)).toEqual(['legal']);
    expect((await chat('legal')).status).toBe(200);
    expect(cluster.events).toEqual([]);
  });

  it('names the shard that has an adapter when another is asked to unload it', async () => {
    expect(await unload('legal', second)).toMatchObject({
      status: 404,
      body: { error: { code: 'adapter_unknown', message: expect.stringContaining(`shard-0 has one: ask ${first}`) } },
    });
    expect(await unload('nobody')).toMatchObject({ status: 404, body: { error: { code: 'adapter_unknown' } } });
  });

  it('lets requests that run while their adapter is unloaded end, and answers then', async () => {
    const client = new OpenAI({ baseURL: `${first}/v1`, apiKey: 'none', maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: question }];
    const open = () => client.chat.completions.create({ model: 'legal', messages, max_tokens: 60, stream: true });
    const reasonOf = async (stream: Awaited<ReturnType<typeof open>>) => {
      for await (const { choices } of stream) if (choices[0]?.finish_reason) return choices[0].finish_reason;
      return 'none';
    };
    // A stream begins when its shard has taken the request.
    const streams = await Promise.all([open(), open(), open()]);
    const unloaded = unload('legal');
    expect(await Promise.all(streams.map(reasonOf))).toEqual(Array(3).fill(expect.stringMatching(/^(stop|length)$/)));
    expect((await unloaded).status).toBe(200);
    await expect(open()).rejects.toMatchObject({ status: 404, code: 'model_unknown' });
  });

  it('answers every chat of the domain on both shards while its adapter comes and goes', async () => {
    let isOver = false;
    const answers: string[] = [];
    const chats = [first, second, second].map(async (url) => {
      while (!isOver) {
        const { status, decision, code } = await chat('default', { domain: 'legal', max_tokens: 3 }, url);
        answers.push(`${status} ${code ?? decision}`);
      }
    });
    try {
      for (let cycle = 0; cycle < 20; cycle++) {
        expect((await load({ lora_name: 'legal', lora_path: 'legal.gguf' })).status).toBe(200);
        expect((await chat('legal', { max_tokens: 3 })).status).toBe(200);
        expect((await unload('legal')).status).toBe(200);
      }
    } finally {
      isOver = true;
    }
    await Promise.all(chats);
    expect(answers.filter((answer) => !/^200 (domain|prefix|ring|least_loaded)$/.test(answer))).toEqual([]);
    expect(answers).toContain('200 domain');
    expect(await list()).toEqual([]);
    expect(cluster.events).toEqual([]);
  });

  it('loads, lists and unloads by the command line', async () => {
    const run = (...args: string[]) => runCommand(['adapter', ...args, '--url', second]);
    const loaded = await run('load', '--domain', 'medical', '--file', join(folder, 'allowed', 'medical.gguf'), '--accuracy-delta', '0.9');
    expect(loaded.stdout).toMatch(/^medical is served by shard-1: adapter [0-9a-f]{12}, scale 1, accuracyDelta 0\.900 \(declared\)\n$/);
    expect((await run('list')).stdout).toMatch(/^medical +shard-1 +[0-9a-f]{12} +scale 1 +accuracyDelta 0\.900 \(declared\)\n$/);
    expect(JSON.parse((await run('list', '--json')).stdout)).toMatchObject([{ domain: 'medical', shard: 'shard-1', source: 'declared' }]);
    expect((await run('unload', '--domain', 'medical')).stdout).toBe('medical is not served by shard-1 any more\n');
    const again = await run('unload', '--domain', 'medical');
    expect([again.code, again.stderr]).toEqual([1, 'ostraka: no adapter of domain medical is loaded on shard-1 [adapter_unknown]\n']);
  });

  it('loads, lists and unloads by AQL, through arangojs and the command line, on the shard that is named; EXPLAIN runs nothing', async () => {
    const database = new Database({ url: first });
    const rows = async (query: string, bindVars: object = {}) => (await (await database.query(query, bindVars as never)).all()) as Listed[];
    expect(await rows('LLM ADAPTER LIST')).toEqual([]);
    const statement = "LLM ADAPTER LOAD @path DOMAIN 'legal' SHARD 'shard-1' OPTIONS {scale: 0.5, accuracy_delta: 0.9}";
    const { plan } = (await database.explain(statement, { path: 'legal.gguf' })) as unknown as { plan: { nodes: { type: string }[] } };
    expect(plan.nodes.map(({ type }) => type)).toEqual(['SingletonNode', 'AdapterNode', 'ReturnNode']);
    expect(await rows('LLM ADAPTER LIST')).toEqual([]);
    const [loaded] = await rows(statement, { path: 'legal.gguf' });
    expect(loaded).toMatchObject({ domain: 'legal', shard: 'shard-1', scale: 0.5, accuracy_delta: 0.9, p99_delta_ms: 0, stale: false });
    expect(Object.keys(loaded ?? {})).toEqual([
      'adapter',
      'model',
      'domain',
      'shard',
      'scale',
      'accuracy_delta',
      'p99_delta_ms',
      'announced_at',
      'stale',
    ]);
    expect(await rows('LLM ADAPTER LIST')).toEqual([loaded]);
    const query = (...args: string[]) => runCommand(['query', ...args, '--url', second]);
    expect(JSON.parse((await query('llm adapter list')).stdout)).toEqual(loaded);
    const digest = (loaded as unknown as { adapter: string }).adapter;
    const named = "RETURN INFER 'default' 'Hi' ADAPTER @name OPTIONS {max_tokens: 2, detail: true}";
    expect(await rows(named, { name: `${digest.slice(0, 12)}@0.5` })).toMatchObject([
      { adapter: digest, adapter_scale: 0.5, shard: 'shard-1' },
    ]);
    const failures: [string, string][] = [
      ["LLM ADAPTER LOAD 'medical.gguf' DOMAIN 'legal' SHARD 'shard-1'", 'ADAPTER_DOMAIN_TAKEN'],
      ["LLM ADAPTER LOAD 'missing.gguf' DOMAIN 'x'", 'ADAPTER_INVALID'],
      ["LLM ADAPTER LOAD '/etc/passwd' DOMAIN 'x' SHARD 'shard-1'", 'ADAPTER_PATH_REFUSED'],
      ["LLM ADAPTER LOAD 'legal.gguf' DOMAIN 'x' SHARD 'shard-9'", 'SHARD_UNKNOWN'],
      ["LLM ADAPTER LOAD 'legal.gguf' DOMAIN 'x' OPTIONS {scale: 'much'}", 'ADAPTER_STATEMENT_INVALID'],
      ["LLM ADAPTER UNLOAD 'legal'", 'ADAPTER_UNKNOWN'],
      ['FOR a IN (LLM ADAPTER LIST) RETURN a', 'AQL_STATEMENT_MISPLACED'],
    ];
    for (const [text, code] of failures) {
      const answer = await post(first, '/_api/cursor', { query: text });
      expect([text, (answer.body as { ostrakaCode?: string }).ostrakaCode]).toEqual([text, code]);
    }
    const unloaded = await query("LLM ADAPTER UNLOAD 'legal@0.5' SHARD 'shard-1'");
    expect(JSON.parse(unloaded.stdout)).toEqual({ adapter: digest, domain: 'legal', shard: 'shard-1', scale: 0.5, unloaded: true });
    expect([await list(), await list(second)]).toEqual([[], []]);
  });

  it('has what was loaded at run time after its engine and after its shard were killed', async () => {
    expect((await load({ lora_name: 'legal', lora_path: 'legal.gguf', accuracyDelta: 0.9 })).status).toBe(200);
    const { text } = await chat('legal');
    const [shard] = cluster.shards;
    process.kill(shard?.enginePid as number, 'SIGKILL');
    await LocalCluster.until(async () => ((await chat('legal')).text === text ? true : undefined), 30_000);
    process.kill(shard?.pid as number, 'SIGKILL');
    await LocalCluster.until(() => cluster.events.find(({ event }) => event === 'shard-ready'), 60_000);
    expect(await list()).toMatchObject([{ domain: 'legal', shard: 'shard-0', source: 'declared', accuracyDelta: 0.9 }]);
    expect((await chat('legal')).text).toBe(text);
    expect((await unload('legal')).status).toBe(200);
  });
});
