import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
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

let cluster: LocalCluster;
beforeAll(async () => {
  cluster = await LocalCluster.start({ shards: 1, args: ['--sequences', '4', '--context', '512'] });
});
afterAll(() => cluster?.stop());

describe('bad input: the exact error, nothing changed, the next request works', () => {
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
    url = cluster.shards[0]?.url ?? '';
    await request('POST', '/_api/collection', { name: 'things' });
    await request('POST', '/_api/document/things', { _key: 'one', n: 1 });
  });

  it.each([
    [
      'FOR d IN things RETRUN d',
      undefined,
      400,
      1501,
      "unexpected name 'RETRUN' at 1:17 near 'RETRUN d': expected an operator or FOR or FILTER or LET or SORT or LIMIT or COLLECT or INSERT or UPDATE or REPLACE or REMOVE or RETURN (did you mean RETURN?)",
    ],
    ['RETURN 1;', undefined, 400, 1501, "unexpected ';' at 1:9 near ';' (AQL has no semicolon; send one query at a time)"],
    ['RETURN [1 2]', undefined, 400, 1501, "unexpected number 2 at 1:11 near '2]': expected ',' or ']'"],
    ['RETURN @a', {}, 400, 1551, 'no value for bind parameter @a'],
    ['RETURN 1', { a: 1 }, 400, 1552, 'bind parameter @a is not in the query'],
    ['RETURN FOO(1)', undefined, 400, 1540, 'unknown function FOO() at 1:8'],
    ['RETURN LENGHT([1])', undefined, 400, 1540, 'unknown function LENGHT(), did you mean LENGTH()?, at 1:8'],
    ['FOR d IN nowhere RETURN d', undefined, 404, 1203, 'collection or view not found: nowhere'],
    [
      "RETURN INFER 'nope' 'hi' OPTIONS {on_error: 'fail'}",
      undefined,
      404,
      8103,
      'no shard serves a chat model nope; served are default, smollm2-135m-instruct',
    ],
    [
      "RETURN INFER 'default' 'hi' OPTIONS {max_tokens: 'x'}",
      undefined,
      400,
      8106,
      'option max_tokens of INFER: Invalid input: expected number, received string',
    ],
    [`RETURN ${'('.repeat(600)}1${')'.repeat(600)}`, undefined, 400, 1524, 'nested deeper than 500 levels at 1:508'],
    ['FOR v IN 1..2 OUTBOUND "a/b" GRAPH "g" RETURN v', undefined, 501, 9, 'a traversal at 1:1 is not available in this version (R11)'],
  ])('query %s', async (text, bindVars, status, errorNum, message) => {
    const before = await rows();
    const answer = await query(text, bindVars as object | undefined);
    expect(answer.status).toBe(status);
    expect(answer.body.errorNum).toBe(errorNum);
    expect(answer.body.errorMessage).toBe(message);
    expect(answer.body.ostrakaCode).toMatch(/^[A-Z_]+$/);
    expect(await rows()).toEqual(before);
  });

  it('nests a hundred levels', async () => {
    const answer = await query(`RETURN ${'['.repeat(100)}1${']'.repeat(100)}`);
    expect(answer.status).toBe(201);
  });

  it('refuses a query of 2 MB with a clear 400', async () => {
    const answer = await query(`RETURN "${'x'.repeat(2_000_000)}"`);
    const errorMessage = 'the query has 2000009 characters, at most 1048576 are read; pass data as bind parameters';
    expect(answer).toMatchObject({ status: 400, body: { ostrakaCode: 'AQL_TOO_LONG', errorNum: 1501, errorMessage } });
    expect((await query('RETURN 1')).status).toBe(201);
  });

  it.each([
    ['invalid JSON', '{"query": ', 'application/json', 400, 600, 'BODY_NOT_JSON', 'expecting a JSON body: Unexpected end of JSON input'],
    [
      'wrong content type',
      '<a/>',
      'text/xml',
      415,
      415,
      'CONTENT_TYPE_WRONG',
      'content type text/xml is not JSON: send content-type: application/json',
    ],
    [
      'JSON that says it is text',
      '{"query":"RETURN 1"}',
      'text/plain',
      415,
      415,
      'CONTENT_TYPE_WRONG',
      'content type text/plain is not JSON: send content-type: application/json',
    ],
    [
      'a whole number beyond 2^53',
      '{"query":"INSERT {_key: \'big\', n: @a} INTO things","bindVars":{"a":9007199254740993}}',
      'application/json',
      400,
      1504,
      'NUMBER_OUT_OF_RANGE',
      'the number 9007199254740993 lies beyond 2^53; send it as a string',
    ],
    ['no query', '{}', 'application/json', 400, 10, 'PARAMETER_BAD', 'query: Invalid input: expected string, received undefined'],
  ])('body: %s', async (_name, body, contentType, status, errorNum, ostrakaCode, errorMessage) => {
    const before = await rows();
    const answer = await request('POST', '/_api/cursor', body, { 'content-type': contentType });
    expect(answer).toMatchObject({ status, body: { errorNum, ostrakaCode, errorMessage, code: status, error: true } });
    expect(await rows()).toEqual(before);
  });

  it('refuses a body of 70 MB with a 413 that the client can read', async () => {
    const answer = await request('POST', '/_api/document/things', `{"a":"${'x'.repeat(70_000_000)}"}`);
    const errorMessage = 'the body is over the limit: at most 33554432 bytes are taken';
    expect(answer).toMatchObject({
      status: 413,
      body: { error: true, code: 413, errorNum: 413, ostrakaCode: 'BODY_TOO_LARGE', errorMessage },
    });
    expect(await rows()).toMatchObject([{ _key: 'one', n: 1 }]);
  });

  it('answers a body that is shorter than its content-length with 408 within 5 seconds, and closes', async () => {
    const startedMs = performance.now();
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(cluster.port, '127.0.0.1', () =>
        socket.write('POST /_api/document/things HTTP/1.1\r\nhost: a\r\ncontent-length: 500\r\n\r\n{"_key":"short"}'),
      );
      socket.on('data', (chunk) => {
        text += String(chunk);
      });
      socket.on('close', () => resolve(text));
    });
    expect(performance.now() - startedMs).toBeLessThan(6_500);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"ostrakaCode":"BODY_INCOMPLETE"/);
    expect((await request('GET', '/_api/document/things/short')).status).toBe(404);
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
    ).toMatchObject({
      status: 412,
      body: {
        errorNum: 1200,
        ostrakaCode: 'REVISION_MISMATCH',
        errorMessage: 'document things/one has another revision than the one given',
      },
    });
    for (const key of ['a/b', '', 'x'.repeat(255), 7, null]) {
      const errorMessage = `illegal document key ${JSON.stringify(key).slice(0, 80)}: use 1 to 254 of A-Z a-z 0-9 _-:.@()+,=;$!*'%`;
      expect(await request('POST', '/_api/document/things', { _key: key })).toMatchObject({
        status: 400,
        body: { errorNum: 1221, ostrakaCode: 'DOCUMENT_KEY_BAD', errorMessage },
      });
    }
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
    expect(error.message).toBe(`the prompt has ${error.promptTokens} tokens and 4 more are asked for, the context holds 512`);
    expect((await chat({})).status).toBe(200);
  });

  it.each([
    [{ temperature: -1 }, 'temperature', 'temperature: Too small: expected number to be >=0'],
    [{ temperature: 'hot' }, 'temperature', 'temperature: Invalid input: expected number, received string'],
    [{ top_p: 0 }, 'top_p', 'top_p: Too small: expected number to be >0'],
    [{ max_tokens: 0 }, 'max_tokens', 'max_tokens: Too small: expected number to be >=1'],
    [{ messages: [] }, 'messages', 'messages: Too small: expected array to have >=1 items'],
    [{ stop: 5 }, 'stop', 'stop: Invalid input'],
    [{ frobnicate: true }, 'frobnicate', 'unknown field frobnicate'],
    [{ stream_options: { include_usage: true } }, 'stream_options', 'stream_options needs stream: true'],
  ])('chat: %o names the field', async (body, param, message) => {
    const error = { message, type: 'invalid_request_error', param, code: 'parameter_bad', request_id: expect.stringMatching(/^req_/) };
    expect(await chat(body)).toEqual({ status: 400, body: { error } });
    expect((await chat({})).status).toBe(200);
  });

  it('ignores harmless OpenAI fields, and says by requirement what is absent', async () => {
    expect((await chat({ user: 'me', metadata: { a: 'b' }, n: 1, logprobs: false, presence_penalty: 0 })).status).toBe(200);
    const functions = await chat({ functions: [{ name: 'f' }] });
    expect(functions.status).toBe(501);
    expect((functions.body.error as { message: string }).message).toContain('R22');
    expect(await chat({ model: 'nope' })).toEqual({
      status: 404,
      body: {
        error: {
          message: 'no shard serves a chat model nope; served are default, smollm2-135m-instruct',
          type: 'invalid_request_error',
          param: null,
          code: 'model_unknown',
          request_id: expect.stringMatching(/^req_/),
        },
      },
    });
    expect((await chat({})).status).toBe(200);
  });

  it('only _system creates, lists and drops databases', async () => {
    const only = { status: 403, body: { error: true, code: 403, errorNum: 1230, ostrakaCode: 'SYSTEM_DATABASE_ONLY' } };
    expect((await request('POST', '/_api/database', { name: 'other' })).status).toBe(201);
    expect(await request('GET', '/_db/other/_api/database')).toMatchObject(only);
    expect(await request('POST', '/_db/other/_api/database', { name: 'third' })).toMatchObject(only);
    expect(await request('DELETE', '/_db/other/_api/database/other')).toMatchObject(only);
    expect((await request('GET', '/_db/other/_api/database/user')).status).toBe(200);
    expect((await request('GET', '/_db/other/_api/database/current')).body).toMatchObject({ result: { name: 'other' } });
    expect((await request('GET', '/_api/database')).body).toMatchObject({ result: ['_system', 'other'] });
    expect((await request('DELETE', '/_api/database/other')).status).toBe(200);
    for (const path of ['/_api/version', '/_api/collection', '/_api/cursor/1', '/_admin/time', '/nowhere'])
      expect(await request('GET', `/_db/other${path}`)).toMatchObject({ status: 404, body: { errorNum: 1228, code: 404 } });
  });

  it('takes revisions by If-Match, If-None-Match and rev, and * as any', async () => {
    const json = { 'content-type': 'application/json' };
    const path = '/_api/document/things/revised';
    expect(await request('PUT', path, { n: 1 }, { ...json, 'if-match': '*' })).toMatchObject({ status: 404, body: { errorNum: 1202 } });
    await request('POST', '/_api/document/things', { _key: 'revised', n: 1 });
    const first = (await fetch(`${url}${path}`, { method: 'HEAD' })).headers.get('etag') ?? '';
    expect(first).toMatch(/^".+"$/);
    expect(await request('PATCH', path, { n: 2 }, { ...json, 'if-match': '*' })).toMatchObject({
      status: 201,
      body: { _oldRev: first.slice(1, -1) },
    });
    const second = (await fetch(`${url}${path}`)).headers.get('etag') ?? '';
    for (const method of ['GET', 'HEAD']) {
      for (const [header, value, status] of [
        ['if-none-match', second, 304],
        ['if-none-match', `"x", W/${second}`, 304],
        ['if-none-match', '*', 304],
        ['if-none-match', first, 200],
        ['if-match', second, 200],
        ['if-match', '*', 200],
        ['if-match', first, 412],
      ] as const) {
        const answer = await fetch(`${url}${path}`, { method, headers: { [header]: value } });
        expect([method, header, value, answer.status, answer.headers.get('etag') ?? second]).toEqual([
          method,
          header,
          value,
          status,
          second,
        ]);
        if (status === 304 || method === 'HEAD') expect(await answer.text()).toBe('');
      }
    }
    const stale = { status: 412, body: { errorNum: 1200, ostrakaCode: 'REVISION_MISMATCH' } };
    expect(await request('DELETE', `${path}?rev=${first.slice(1, -1)}`)).toMatchObject(stale);
    expect(await request('PATCH', path, { n: 3 }, { ...json, 'if-match': '"a", "b"' })).toMatchObject({
      status: 400,
      body: { errorNum: 10 },
    });
    expect(await request('PATCH', `${path}?ignoreRevs=false`, { _rev: 'old', n: 3 })).toMatchObject(stale);
    expect((await request('GET', path)).body).toMatchObject({ n: 2 });
    expect((await request('PATCH', `${path}?ignoreRevs=true`, { _rev: 'old', n: 3 })).status).toBe(201);
    expect((await request('DELETE', path, undefined, { 'if-match': '*' })).status).toBe(200);
    expect(await request('HEAD', path)).toMatchObject({ status: 404 });
  });

  it('takes the parameters of a write that ArangoDB knows', async () => {
    const path = '/_api/document/things';
    const body = async (method: string, parameters: string, document: object) =>
      (await request(method, `${path}${parameters}`, document)).body;
    expect(
      await body('POST', '?silent=true&waitForSync=true&refillIndexCaches=true&unheardOf=1', { _key: 'w', a: { x: 1 }, b: 1 }),
    ).toEqual({});
    expect(
      await body('PATCH', '/w?keepNull=false&mergeObjects=false&returnNew=true&returnOld=true', { a: { y: 2 }, b: null }),
    ).toMatchObject({
      old: { a: { x: 1 }, b: 1 },
      new: { a: { y: 2 } },
    });
    expect((await request('GET', `${path}/w`)).body).not.toHaveProperty('b');
    expect(await request('POST', path, { _key: 'w' })).toMatchObject({ status: 409, body: { errorNum: 1210 } });
    expect(await body('POST', '?overwriteMode=ignore', { _key: 'w', c: 1 })).not.toHaveProperty('_oldRev');
    expect(await body('POST', '?overwriteMode=update&returnNew=true', { _key: 'w', c: 1 })).toMatchObject({
      _oldRev: expect.any(String),
      new: { a: { y: 2 }, c: 1 },
    });
    expect(await body('POST', '?overwriteMode=replace&returnNew=true&returnOld=true', { _key: 'w', d: 1 })).toMatchObject({
      old: { c: 1 },
      new: { d: 1 },
    });
    for (const parameters of ['?overwriteMode=sometimes', '?keepNull=maybe', '?returnNew=2'])
      expect(await request('POST', `${path}${parameters}`, { _key: 'never' })).toMatchObject({
        status: 400,
        body: { errorNum: 10, ostrakaCode: 'PARAMETER_BAD' },
      });
    expect((await request('DELETE', `${path}/w?returnOld=true`)).body).toMatchObject({ old: { d: 1 } });
    expect(await rows()).toMatchObject([{ _key: 'one', n: 1 }]);
  });

  it.each<[string, string, object | undefined, string]>([
    ['POST', '/_api/document/things?isRestore=true', { _key: 'never' }, 'isRestore'],
    ['POST', '/_api/document/things?versionAttribute=v', { _key: 'never' }, 'versionAttribute'],
    ['POST', '/_api/collection', { name: 'never', schema: { rule: {} } }, 'schema'],
    ['POST', '/_api/collection', { name: 'never', computedValues: [{}] }, 'computedValues'],
    ['POST', '/_api/collection', { name: 'never', keyOptions: { type: 'autoincrement' } }, 'keyOptions.type'],
    ['POST', '/_api/collection', { name: 'never', keyOptions: { allowUserKeys: false } }, 'keyOptions.allowUserKeys: false'],
    ['POST', '/_api/collection', { name: 'never', shardKeys: ['region'] }, 'shardKeys other than _key'],
    ['POST', '/_api/collection', { name: 'never', replicationFactor: 3 }, 'replicationFactor above 1'],
    ['POST', '/_api/cursor', { query: 'RETURN 1', options: { fullCount: true } }, 'fullCount'],
    ['POST', '/_api/cursor', { query: 'RETURN 1', options: { profile: 2 } }, 'profile'],
    ['POST', '/_api/cursor', { query: 'RETURN 1', options: { allowRetry: true } }, 'allowRetry'],
    ['POST', '/_api/explain', { query: 'RETURN 1', options: { allPlans: true } }, 'allPlans'],
  ])('%s %s %j says that %s is not supported', async (method, path, body, param) => {
    const answer = await request(method, path, body);
    expect(answer).toMatchObject({ status: 501, body: { error: true, code: 501, errorNum: 9, ostrakaCode: 'NOT_SUPPORTED', param } });
    expect(answer.body.errorMessage).toContain(param);
    expect((await request('GET', '/_api/collection/never')).status).toBe(404);
    expect((await request('GET', '/_api/document/things/never')).status).toBe(404);
  });

  it('ignores what changes nothing', async () => {
    const body = {
      query: 'RETURN 1',
      cache: true,
      options: { fullCount: false, stream: false, fillBlockCache: false, maxTransactionSize: 1, unheardOf: 1 },
    };
    expect((await request('POST', '/_api/cursor?unheardOf=1', body)).body).toMatchObject({ result: [1] });
    const collection = {
      name: 'plain',
      numberOfShards: 9,
      replicationFactor: 1,
      keyOptions: { type: 'traditional', allowUserKeys: true },
      schema: null,
    };
    expect((await request('POST', '/_api/collection?waitForSyncReplication=0', collection)).status).toBe(200);
    expect((await request('DELETE', '/_api/collection/plain')).status).toBe(200);
  });

  it('600 cursors that nobody reads hold no query place, and all can be read later', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 600; i++) {
      const { status, body } = await request('POST', '/_api/cursor', { query: 'FOR i IN 1..3000 RETURN i', batchSize: 1 });
      expect(status).toBe(201);
      ids.push((body as { id?: string }).id ?? '');
    }
    expect((await query('RETURN 1')).status).toBe(201);
    expect((await request('PUT', `/_api/cursor/${ids[0]}`)).body).toMatchObject({ result: [2], hasMore: true });
    for (const id of ids) expect((await request('DELETE', `/_api/cursor/${id}`)).status).toBe(202);
  });

  it('a shard full of cursors says when to come back, and takes new ones when some are gone', async () => {
    const ids: string[] = [];
    let refused: Response | undefined;
    while (refused === undefined && ids.length < 1_100) {
      const answer = await fetch(`${url}/_api/cursor`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"query":"FOR i IN 1..2 RETURN i","batchSize":1}',
      });
      if (answer.status === 201) ids.push(((await answer.json()) as { id: string }).id);
      else refused = answer;
    }
    expect([ids.length, refused?.status, refused?.headers.get('retry-after')]).toEqual([1024, 429, '60']);
    expect(await refused?.json()).toMatchObject({ error: true, code: 429, errorNum: 21002, ostrakaCode: 'CURSORS_FULL' });
    for (const id of ids) expect((await request('DELETE', `/_api/cursor/${id}`)).status).toBe(202);
    expect((await query('RETURN 1')).status).toBe(201);
  });

  it('refuses a ttl beyond the limit and names it', async () => {
    const answer = await request('POST', '/_api/cursor', { query: 'RETURN 1', ttl: 3601 });
    expect(answer).toMatchObject({
      status: 400,
      body: { errorNum: 10, ostrakaCode: 'PARAMETER_BAD', errorMessage: expect.stringContaining('3600') },
    });
    expect((await request('POST', '/_api/cursor', { query: 'RETURN 1', ttl: 3600 })).status).toBe(201);
  });

  it.each([
    ['count', { count: true }],
    ['a huge batch', { batchSize: 1_000_000 }],
  ])('bounds what %s holds by the memory limit of the query', async (_name, options) => {
    const body = { query: 'FOR i IN 1..900000 RETURN {i, text: "0123456789"}', memoryLimit: 1_000_000, ...options };
    expect(await request('POST', '/_api/cursor', body)).toMatchObject({
      status: 500,
      body: { error: true, code: 500, errorNum: 32, ostrakaCode: 'QUERY_MEMORY_LIMIT' },
    });
    expect((await request('POST', '/_api/cursor', { ...body, memoryLimit: 1_000_000, batchSize: 100, count: false })).status).toBe(201);
  });

  it('answers unknown paths and methods', async () => {
    expect(await request('GET', '/nowhere')).toMatchObject({ status: 404, body: { errorNum: 404 } });
    expect(await request('DELETE', '/_api/version')).toMatchObject({ status: 405 });
    expect(await request('GET', '/_db/nowhere/_api/collection')).toMatchObject({ status: 404, body: { errorNum: 1228 } });
    expect(await request('POST', '/_db/nowhere/_api/cursor', { query: 'RETURN 1' })).toMatchObject({
      status: 404,
      body: { errorNum: 1228, ostrakaCode: 'DATABASE_NOT_FOUND', errorMessage: 'database not found: nowhere' },
    });
    expect((await query('RETURN 1')).status).toBe(201);
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
    expect(stderr).toMatch(/^ostraka: .* has data format 99, this version knows 2: use a newer Ostraka \[DATA_FORMAT_NEWER\]\n$/);
    expect([await readdir(data), await readFile(join(data, 'ostraka-data.json'), 'utf8')]).toEqual([
      ['ostraka-data.json'],
      '{"format":99}',
    ]);
  });

  it('a data folder in use, and a taken port', async () => {
    const used = run('up', '--data', cluster.dataFolder, '--port', '41100');
    const inUse = / is used by process \d+: stop it, or choose another folder \[DATA_FOLDER_IN_USE\]\n$/;
    expect(used).toMatchObject({ status: 1, stderr: expect.stringMatching(inUse) });
    const taken = run('up', '--data', join(folder, 'other'), '--port', String(cluster.port));
    const portTaken = `ostraka: port ${cluster.port} is taken: choose another with --port, or stop the program that uses it [PORT_IN_USE]\n`;
    expect(taken).toMatchObject({ status: 1, stderr: portTaken });
    const ports = (data: string) => {
      const { stdout } = run('doctor', '--json', '--data', data, '--port', String(cluster.port), '--shards', '1');
      return (JSON.parse(stdout) as { readonly check: string }[]).find(({ check }) => check === 'ports');
    };
    expect(ports(cluster.dataFolder)).toMatchObject({
      state: 'ok',
      found: expect.stringContaining('the running cluster of this data folder'),
    });
    expect(ports(join(folder, 'other'))).toMatchObject({ state: 'warning', found: expect.stringContaining('another Ostraka cluster') });
    expect((await fetch(`${cluster.shards[0]?.url}/health/live`)).status).toBe(200);
  });

  it('a model file that is truncated or no model', async () => {
    const model = join(folder, 'broken.gguf');
    await writeFile(model, Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(100, 7)]));
    const { status, stderr } = run('up', '--data', join(folder, 'model'), '--port', '41200', '--shards', '1', '--model', model);
    expect(status).toBe(1);
    expect(stderr).toContain('[MODEL_INVALID]');
    expect(stderr).toContain('broken');
  });

  it.each([
    ['truncated', (whole: Buffer) => whole.subarray(0, whole.length - 1_000), /truncated: tensor \S+ ends at byte \d+/],
    ['cut in its header', (whole: Buffer) => whole.subarray(0, 300), /shorter than its header says/],
    ['no GGUF file', () => Buffer.alloc(5_000, 7), /not a GGUF file/],
    ['empty', () => Buffer.alloc(0), /too short/],
  ])('an adapter that is %s is refused before any shard starts', async (name, damage, reason) => {
    const file = join(folder, 'adapter.gguf');
    await writeFile(file, damage(await readFile('sample/adapters/legal.gguf')));
    const data = join(folder, `adapter-${name}`);
    const startedMs = performance.now();
    const { status, stdout, stderr } = run('up', '--data', data, '--port', '41300', '--shards', '1', '--adapter', `legal=${file}`);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^ostraka: adapter .*adapter\.gguf of legal: .*\[ADAPTER_INVALID\]\n$/);
    expect(stderr).toMatch(reason);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    await expect(stat(join(data, 'shards'))).rejects.toMatchObject({ code: 'ENOENT' });
    const missing = run('up', '--data', data, '--port', '41300', '--shards', '1', '--adapter', `legal=${file}.none`);
    expect(missing).toMatchObject({ status: 1, stderr: expect.stringMatching(/ENOENT.*\[ADAPTER_INVALID\]\n$/) });
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
