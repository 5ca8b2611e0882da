import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalCluster } from '../support/LocalCluster.js';

interface ErrorBody {
  readonly errorNum?: number;
  readonly errorMessage?: string;
  readonly ostrakaCode?: string;
  readonly error?:
    | boolean
    | {
        readonly code: string;
        readonly message: string;
        readonly param: string | null;
        readonly promptTokens?: number;
        readonly contextTokensMax?: number;
      };
}

describe('bad input: the exact error, nothing changed, the next request works', () => {
  let cluster: LocalCluster;
  let url: string;
  const request = async (
    method: string,
    path: string,
    body?: string | object,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ) => {
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as ErrorBody };
  };
  const query = (text: string, bindVars?: object) =>
    request('POST', '/_api/cursor', bindVars ? { query: text, bindVars } : { query: text });
  const chat = (body: object) =>
    request('POST', '/v1/chat/completions', { model: 'default', messages: [{ role: 'user', content: 'hi' }], max_tokens: 4, ...body });
  const rows = async (): Promise<unknown> => ((await query('FOR d IN things SORT d._key RETURN d')).body as { result?: unknown }).result;

  beforeAll(async () => {
    cluster = await LocalCluster.start({ shards: 1, args: ['--sequences', '4', '--context', '512'] });
    url = cluster.shards[0]?.url ?? '';
    await request('POST', '/_api/collection', { name: 'things' });
    await request('POST', '/_api/document/things', { _key: 'one', n: 1 });
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  it.each([
    ['FOR d IN things RETRUN d', undefined, 400, 1501, /RETURN/],
    ['RETURN 1;', undefined, 400, 1501, /1:9|semicolon/],
    ['RETURN [1 2]', undefined, 400, 1501, /1:1\d/],
    ['RETURN @a', {}, 400, 1551, /a/],
    ['RETURN 1', { a: 1 }, 400, 1552, /a/],
    ['RETURN FOO(1)', undefined, 400, 1540, /FOO/],
    ['RETURN LENGHT([1])', undefined, 400, 1540, /LENGTH/],
    ['FOR d IN nowhere RETURN d', undefined, 404, 1203, /nowhere/],
    ["RETURN INFER 'nope' 'hi' OPTIONS {on_error: 'fail'}", undefined, 404, 8103, /nope/],
    ["RETURN INFER 'default' 'hi' OPTIONS {max_tokens: 'x'}", undefined, 400, 8106, /max_tokens/],
    [`RETURN ${'('.repeat(600)}1${')'.repeat(600)}`, undefined, 400, 1524, /500/],
    ['FOR v IN 1..2 OUTBOUND "a/b" GRAPH "g" RETURN v', undefined, 501, 9, /R11/],
  ])('query %s', async (text, bindVars, status, errorNum, message) => {
    const before = await rows();
    const answer = await query(text, bindVars as object | undefined);
    expect(answer.status).toBe(status);
    expect(answer.body.errorNum).toBe(errorNum);
    expect(answer.body.errorMessage).toMatch(message);
    expect(answer.body.ostrakaCode).toMatch(/^[A-Z_]+$/);
    expect(await rows()).toEqual(before);
  });

  it('nests a hundred levels', async () => {
    const answer = await query(`RETURN ${'['.repeat(100)}1${']'.repeat(100)}`);
    expect(answer.status).toBe(201);
  });

  it('refuses a query of 2 MB with a clear 400', async () => {
    const answer = await query(`RETURN "${'x'.repeat(2_000_000)}"`);
    expect(answer.status).toBe(400);
    expect(answer.body.ostrakaCode).toMatch(/^AQL_/);
  });

  it.each([
    ['invalid JSON', '{"query": ', 'application/json', 400, 600],
    ['wrong content type', '<a/>', 'text/xml', 415, 415],
    ['a whole number beyond 2^53', '{"query":"RETURN @a","bindVars":{"a":9007199254740993}}', 'application/json', 400, 1504],
    ['no query', '{}', 'application/json', 400, 10],
  ])('body: %s', async (_name, body, contentType, status, errorNum) => {
    const answer = await request('POST', '/_api/cursor', body, { 'content-type': contentType });
    expect(answer).toMatchObject({ status, body: { errorNum, error: true } });
    expect((await query('RETURN 1')).status).toBe(201);
  });

  it('refuses a body over the limit with 413, before it is read whole', async () => {
    const answer = await request('POST', '/_api/document/things', `{"a":"${'x'.repeat(34_000_000)}"}`).catch(() => undefined);
    expect(answer?.status ?? 413).toBe(413);
    expect((await query('RETURN 1')).status).toBe(201);
  });

  it('answers a lying content-length and broken framing with 400 and closes', async () => {
    const raw = (text: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(cluster.port, '127.0.0.1', () => socket.end(text));
        let answer = '';
        socket.on('data', (chunk) => {
          answer += String(chunk);
        });
        socket.on('close', () => resolve(answer));
        socket.on('error', () => resolve(answer));
      });
    const both = await raw('POST /_api/cursor HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n');
    expect(both).toMatch(/^HTTP\/1\.1 400/);
    expect(both).toContain('REQUEST_MALFORMED');
    const short = await raw(
      'POST /_api/cursor HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"query":"RETURN 1"}',
    );
    expect(short).not.toMatch(/^HTTP\/1\.1 2/);
    expect((await query('RETURN 1')).status).toBe(201);
  });

  it('checks revisions and keys, and keeps odd attribute names as data', async () => {
    expect(
      await request('PATCH', '/_api/document/things/one', { n: 2 }, { 'content-type': 'application/json', 'if-match': '"_0wrong"' }),
    ).toMatchObject({ status: 412, body: { errorNum: 1200, ostrakaCode: 'REVISION_MISMATCH' } });
    expect(await request('POST', '/_api/document/things', { _key: 'a/b' })).toMatchObject({ status: 400, body: { errorNum: 1221 } });
    expect(await request('POST', '/_api/document/things', { _key: 7 })).toMatchObject({ status: 400, body: { errorNum: 1221 } });
    expect(await request('POST', '/_api/document/things', '[1]')).toMatchObject({ status: 201 });
    const foreign = await fetch(`${url}/_api/document/things`, {
      method: 'DELETE',
      headers: { 'content-type': 'application/json' },
      body: '["archive/one"]',
    });
    expect(await foreign.json()).toMatchObject([{ error: true, ostrakaCode: 'PARAMETER_BAD' }]);
    expect((await request('PUT', '/_api/document/things?onlyget=1', '["one"]')).body).toMatchObject([{ n: 1 }]);
    expect(await request('GET', '/_api/document/things/none')).toMatchObject({ status: 404, body: { errorNum: 1202 } });
    const odd = '{"_key":"odd","__proto__":{"polluted":true},"constructor":{"prototype":{"x":1}}}';
    expect((await request('POST', '/_api/document/things', odd)).status).toBe(201);
    const stored = await (await fetch(`${url}/_api/document/things/odd`)).text();
    expect(stored).toContain('"__proto__":{"polluted":true}');
    const merged = await query('FOR d IN things FILTER d._key == "odd" RETURN KEYS(MERGE(d, {a: 1}))');
    expect((merged.body as { result?: unknown[][] }).result?.[0]).toContain('__proto__');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    await request('DELETE', '/_api/document/things/odd');
    expect(await rows()).toMatchObject([{ _key: 'one', n: 1 }]);
  });

  it('refuses a prompt longer than the context with both numbers, and never truncates', async () => {
    const answer = await chat({ messages: [{ role: 'user', content: 'word '.repeat(1_000) }] });
    expect(answer.status).toBe(400);
    const error = answer.body.error as Exclude<ErrorBody['error'], boolean | undefined>;
    expect(error.code).toBe('context_length_exceeded');
    expect(error.promptTokens).toBeGreaterThan(512);
    expect(error.contextTokensMax).toBe(512);
    expect((await chat({})).status).toBe(200);
  });

  it.each([
    [{ temperature: -1 }, 'temperature'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ top_p: 0 }, 'top_p'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ messages: [] }, 'messages'],
    [{ stop: 5 }, 'stop'],
    [{ frobnicate: true }, 'frobnicate'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
  ])('chat: %o names the field', async (body, param) => {
    const answer = await chat(body);
    expect(answer.status).toBe(400);
    expect((answer.body.error as { param: string }).param).toContain(param);
  });

  it('ignores harmless OpenAI fields, and says by requirement what is absent', async () => {
    expect((await chat({ user: 'me', metadata: { a: 'b' }, n: 1, logprobs: false, presence_penalty: 0 })).status).toBe(200);
    const tools = await chat({ tools: [{ type: 'function', function: { name: 'f' } }] });
    expect(tools.status).toBe(501);
    expect((tools.body.error as { message: string }).message).toContain('R22');
    expect((await chat({ model: 'nope' })).body.error).toMatchObject({ code: expect.stringMatching(/model_unknown|no_shard_available/) });
  });

  it('answers unknown paths and methods', async () => {
    expect(await request('GET', '/nowhere')).toMatchObject({ status: 404, body: { errorNum: 404 } });
    expect(await request('DELETE', '/_api/version')).toMatchObject({ status: 405 });
    expect(await request('GET', '/_db/nowhere/_api/collection')).toMatchObject({ status: 404, body: { errorNum: 1228 } });
  });
});

describe('bad starts: one clear line and exit code 1', () => {
  let folder: string;
  const run = (...args: string[]) => spawnSync(process.execPath, ['dist/src/cli/main.js', ...args], { encoding: 'utf8', timeout: 60_000 });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ostraka-bad-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('a data folder of a newer format is refused and not touched', async () => {
    const data = join(folder, 'newer');
    await mkdir(data);
    await writeFile(join(data, 'ostraka-data.json'), '{"format":99}');
    const { status, stderr } = run('up', '--data', data, '--port', '41000');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^ostraka: .*format 99.*\[DATA_FORMAT_NEWER\]\n$/);
  });

  it('a data folder in use, and a taken port', async () => {
    const cluster = await LocalCluster.start({ shards: 1, args: ['--sequences', '2', '--context', '256'] });
    try {
      const used = run('up', '--data', cluster.dataFolder, '--port', '41100');
      expect(used).toMatchObject({ status: 1, stderr: expect.stringContaining('[DATA_FOLDER_IN_USE]') });
      const taken = run('up', '--data', join(folder, 'other'), '--port', String(cluster.port));
      expect(taken).toMatchObject({ status: 1, stderr: expect.stringContaining('[PORT_IN_USE]') });
      expect((await fetch(`${cluster.shards[0]?.url}/health/live`)).status).toBe(200);
    } finally {
      await cluster.stop();
    }
  });

  it('a model file that is truncated or no model', async () => {
    const model = join(folder, 'broken.gguf');
    await writeFile(model, Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(100, 7)]));
    const { status, stderr } = run('up', '--data', join(folder, 'model'), '--port', '41200', '--shards', '1', '--model', model);
    expect(status).toBe(1);
    expect(stderr).toContain('[MODEL_INVALID]');
    expect(stderr).toContain('broken');
  });

  it('a bind off loopback without credentials', async () => {
    const config = join(folder, 'shard.yaml');
    const model = { name: 'm', path: 'm.gguf', digest: 'a'.repeat(64) };
    const shard = {
      cluster: { name: 'c', initialShards: ['shard-0'], chatModel: model, embeddingModel: model },
      process: { shardId: 'shard-0', host: '0.0.0.0', httpPort: 0, rpcPort: 0 },
    };
    const certificates = { authority: 'a.pem', certificate: 'c.pem', key: 'k.pem' };
    await writeFile(config, JSON.stringify({ dataFolder: 'd', metadataFolder: 'm', certificates, shard }));
    const { status, stderr } = run('start', '--config', config);
    expect(status).toBe(1);
    expect(stderr).toMatch(/0\.0\.0\.0.*\[BIND_NOT_ALLOWED\]/);
    await writeFile(config, 'shard: {nonsense: 1}');
    expect(run('start', '--config', config)).toMatchObject({ status: 1, stderr: expect.stringContaining('[CONFIG_INVALID]') });
  });
});
