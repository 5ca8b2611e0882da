import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock, settle } from '../../test/support/ManualClock.js';
import { CountingRandom, EventLog, silentMetrics } from '../../test/support/silentPorts.js';
import { baseError, type JsonValue, utf8 } from '../base/index.js';
import type { QueryCursor } from '../execution/index.js';
import { plainSampling, platformError } from '../platform/index.js';
import { CursorStore } from './data/CursorStore.js';
import { Gateway } from './Gateway.js';
import { gatewayRoutes } from './gatewayRoutes.js';
import { isAuthorized } from './isAuthorized.js';
import { chatRequest } from './models/chat/chatRequest.js';
import { gatewayOptions } from './options.js';
import { parseJsonBody } from './parseJsonBody.js';
import type { Route } from './Route.js';
import { RouteTable } from './RouteTable.js';
import { responses } from './responses.js';

const codeOf = (run: () => unknown): unknown => {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as { readonly code?: unknown }).code;
  }
};

describe('parseJsonBody', () => {
  const parse = (body: string | Uint8Array, contentType?: string) =>
    parseJsonBody({
      body: typeof body === 'string' ? utf8.encode(body) : body,
      headers: contentType === undefined ? {} : { 'content-type': contentType },
    });

  it.each(['9007199254740991', '-9007199254740991', '"9007199254740993"', '0.12345678901234567', '1e16', '{"a\\"9007199254740993":1}'])(
    'takes %s',
    (text) => {
      expect(parse(text)).toEqual(JSON.parse(text));
    },
  );

  it.each([
    '9007199254740993',
    '[-9007199254740992]',
    '{"a":"\\\\","b":12345678901234567890}',
    '1e400',
    '[-1e999]',
    `${'9'.repeat(400)}.5`,
  ])('refuses %s, which JavaScript would change silently', (text) => {
    expect(codeOf(() => parse(text))).toBe('NUMBER_OUT_OF_RANGE');
  });

  it('refuses what is nested deeper than 200 levels, brackets in texts aside', () => {
    const nested = (depth: number) => ({ body: utf8.encode(`${'['.repeat(depth)}"[[[["${']'.repeat(depth)}`), headers: {} });
    expect(() => parseJsonBody(nested(201))).toThrowError(expect.objectContaining({ code: 'BODY_NOT_JSON' }));
    expect(parseJsonBody(nested(200))).toBeDefined();
  });

  it('refuses bytes that are not UTF-8, and text that is not JSON', () => {
    expect(codeOf(() => parse(Uint8Array.of(0x22, 0xff, 0x22)))).toBe('BODY_NOT_JSON');
    for (const text of ['', '{', '{"a":1,}', 'nothing', '"12345678901234567']) expect(codeOf(() => parse(text))).toBe('BODY_NOT_JSON');
  });

  it.each([undefined, 'application/json', 'application/json; charset=utf-8', 'Text/JSON;charset=utf-8', 'application/vnd.x+json'])(
    'takes content type %s',
    (contentType) => expect(parse('1', contentType)).toBe(1),
  );

  it.each([
    'text/html',
    'text/plain',
    'text/plain; x=json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/xml',
    'application/jsonl',
    'json',
  ])('refuses content type %s', (contentType) => {
    expect(codeOf(() => parse('1', contentType))).toBe('CONTENT_TYPE_WRONG');
  });

  it.each(['gzip', 'br', 'deflate', 'identity, gzip', 'x'.repeat(500)])(
    'refuses content encoding %s by its name, and never reads it',
    (encoding) => {
      const request = { body: utf8.encode('1'), headers: { 'content-encoding': encoding } };
      expect(() => parseJsonBody(request)).toThrowError(
        expect.objectContaining({
          code: 'CONTENT_ENCODING_UNKNOWN',
          httpStatus: 415,
          message: expect.stringContaining(encoding.slice(0, 80)),
        }),
      );
    },
  );

  it.each(['', 'identity', ' Identity '])('takes a body with the content encoding "%s"', (encoding) =>
    expect(parseJsonBody({ body: utf8.encode('1'), headers: { 'content-encoding': encoding } })).toBe(1),
  );

  it('reads a very long string beside a long number, and gives up on one without an end in time', () => {
    const long = 'x'.repeat(20_000_000);
    expect((parse(`["${long}", 1234567890123456]`) as readonly string[])[0]).toHaveLength(long.length);
    expect(codeOf(() => parse(`1234567890123456 "${'\\"'.repeat(1_000_000)}`))).toBe('BODY_NOT_JSON');
    expect(parse(`["${'\\"'.repeat(1_000_000)}", 1234567890123456]`)).toHaveLength(2);
  }, 10_000);

  it('keeps names like __proto__ as data', () => {
    expect(Object.keys(parse('{"__proto__":{"x":1}}') as object)).toEqual(['__proto__']);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

describe('RouteTable', () => {
  const route = (method: Route['method'], pattern: string): Route => ({
    method,
    pattern,
    style: 'arango',
    handle: async () => responses.empty(200),
  });
  const table = new RouteTable([
    route('GET', '/_api/document/:collection/:key'),
    route('GET', '/_api/document/:collection/all'),
    route('POST', '/_api/document/:collection'),
    route('GET', '/health/live'),
  ]);

  it('gives the parameters decoded, and lets a fixed part win', () => {
    expect(table.find('GET', '/_api/document/a%20b/x%2Fy').parameters).toEqual({ collection: 'a b', key: 'x/y' });
    expect(table.find('GET', '/_api/document/c/all').route.pattern).toBe('/_api/document/:collection/all');
    expect(Object.keys(table.find('POST', '/_api/document/__proto__').parameters)).toEqual(['collection']);
  });

  it.each([
    ['GET', '/nothing', 'ROUTE_UNKNOWN'],
    ['GET', '/health/live/', 'ROUTE_UNKNOWN'],
    ['DELETE', '/health/live', 'METHOD_NOT_ALLOWED'],
    ['GET', '/_api/document/%zz/k', 'REQUEST_MALFORMED'],
  ])('%s %s ends in %s', (method, path, code) => {
    expect(codeOf(() => table.find(method, path))).toBe(code);
  });
});

describe('isAuthorized', () => {
  const may = (authorization: string | undefined, key: string | undefined = 'geheim', pattern = '/v1/models') =>
    isAuthorized({ headers: authorization === undefined ? {} : { authorization } }, key, pattern);
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

  it('takes the key as bearer token or as basic password, of any length', () => {
    for (const key of ['geheim', 'a:b', 'schlüssel', 'x'.repeat(100)]) {
      expect(may(basic(`root:${key}`), key)).toBe(true);
      if (/^[ -~]+$/.test(key)) expect(may(`bearer ${key}`, key)).toBe(true);
    }
  });

  it('takes the key in x-api-key, as clients of Anthropic send it', () => {
    const by = (headers: { readonly [name: string]: string }) => isAuthorized({ headers }, 'geheim', '/v1/messages');
    expect([by({ 'x-api-key': 'geheim' }), by({ 'x-api-key': 'falsch' }), by({ 'x-api-key': '' })]).toEqual([true, false, false]);
    expect(by({ 'x-api-key': 'falsch', authorization: 'Bearer geheim' })).toBe(true);
  });

  it('refuses everything else, except the liveness probe and where no key is configured', () => {
    for (const header of [
      undefined,
      '',
      'geheim',
      'Bearer',
      'Bearer falsch',
      'Bearer geheim2',
      basic('geheim:'),
      'Digest geheim',
      'Basic %%%',
    ])
      expect(may(header)).toBe(false);
    expect(may(undefined, 'geheim', '/health/live')).toBe(true);
    expect(isAuthorized({ headers: {} }, undefined, '/v1/models')).toBe(true);
  });
});

describe('responses', () => {
  const error = baseError('QUEUE_FULL', 'full', { data: { param: 'x', promptTokens: 3 } });
  const bodyOf = ({ body }: { readonly body: unknown }): unknown => JSON.parse(String(body));

  it('an error has the shape of ArangoDB, and when to come back', () => {
    const answer = responses.arangoError(error);
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '1']);
    expect(bodyOf(answer)).toEqual({
      error: true,
      code: 429,
      errorNum: 21002,
      errorMessage: 'full',
      ostrakaCode: 'QUEUE_FULL',
      param: 'x',
      promptTokens: 3,
    });
  });

  it('data of an error cannot replace its fields', () => {
    const lying = baseError('INTERNAL', 'real', { data: { error: false, code: 200, errorMessage: 'fine' } });
    expect(bodyOf(responses.arangoError(lying))).toMatchObject({ error: true, code: 500, errorMessage: 'real' });
    expect(responses.arangoError(lying).headers['retry-after']).toBeUndefined();
  });

  it('an error has the shape of OpenAI, with the parameter and the figures', () => {
    expect(bodyOf(responses.openAiError(error, 'r1'))).toEqual({
      error: { message: 'full', type: 'rate_limit_error', param: 'x', code: 'queue_full', promptTokens: 3, request_id: 'r1' },
    });
  });

  it('an answer says that it is none', () => {
    expect(bodyOf(responses.arango(201, { result: [1] }))).toEqual({ result: [1], error: false, code: 201 });
    expect(responses.empty(204)).toEqual({ status: 204, headers: {}, body: '' });
  });
});

describe('chatRequest', () => {
  const least = { model: 'default', messages: [{ role: 'user', content: 'hi' }] };
  const check = (fields: { readonly [name: string]: JsonValue }) =>
    chatRequest({ ...least, ...fields } as JsonValue, gatewayOptions.parse({}));

  it('fills in what is not given', () => {
    expect(check({})).toEqual({
      model: 'default',
      messages: [{ role: 'user', content: 'hi' }],
      tools: undefined,
      domain: undefined,
      domainFallback: undefined,
      choices: 1,
      stream: false,
      includeUsage: false,
      sampling: { ...plainSampling, tokensMax: 256, temperature: 1 },
    });
  });

  it('takes parts of text, developer as system, one stop, and the newer name of max_tokens first', () => {
    const messages = [
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ];
    const request = check({
      messages,
      stop: 'x',
      seed: 0,
      max_tokens: 5,
      max_completion_tokens: 6,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(request).toMatchObject({ messages: [{ role: 'system', content: 'ab' }], stream: true, includeUsage: true });
    expect(request.sampling).toMatchObject({ stop: ['x'], seed: 0, tokensMax: 6 });
  });

  it.each(['user', 'metadata', 'store', 'reasoning_effort'])('takes the harmless field %s', (field) => {
    expect(codeOf(() => check({ [field]: 'anything' }))).toBeUndefined();
  });

  it.each<[string, JsonValue]>([
    ['n', 1],
    ['n', null],
    ['logprobs', false],
    ['presence_penalty', 0],
    ['tools', []],
    ['tool_choice', 'auto'],
    ['response_format', { type: 'text' }],
    ['logit_bias', {}],
  ])('takes %s = %j, which asks for nothing', (field, value) => {
    expect(codeOf(() => check({ [field]: value }))).toBeUndefined();
  });

  it.each<[string, JsonValue]>([['functions', [{}]]])('says that %s = %j is not supported', (field, value) => {
    expect(codeOf(() => check({ [field]: value }))).toBe('NOT_SUPPORTED');
  });

  it.each<[string, JsonValue]>([
    ['temprature', 1],
    ['temperature', 2.1],
    ['temperature', -0.1],
    ['top_p', 0],
    ['top_p', 1.1],
    ['top_k', -1],
    ['top_k', 1.5],
    ['repetition_penalty', 0],
    ['presence_penalty', 2.1],
    ['frequency_penalty', -2.1],
    ['min_p', 1.1],
    ['typical_p', 0],
    ['logit_bias', { a: 1 }],
    ['logit_bias', { '1': 101 }],
    ['stop_token_ids', [-1]],
    ['min_tokens', 257],
    ['n', 17],
    ['response_format', { type: 'xml' }],
    ['response_format', { type: 'json_schema' }],
    ['guided_json', '{'],
    ['guided_choice', []],
    ['top_logprobs', 2],
    ['ignore_eos', 'yes'],
    ['max_tokens', 0],
    ['seed', 0.5],
    ['seed', 2 ** 53],
    ['stop', ''],
    ['stop', Array.from({ length: 17 }, () => 'x')],
    ['tools', [{}]],
    ['tool_choice', 'maybe'],
    ['parallel_tool_calls', 'anything'],
    ['messages', []],
    ['messages', [{ role: 'tool', content: 'x' }]],
    ['messages', [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }]],
    ['model', ''],
    ['stream', 'yes'],
    ['stream_options', { include_usage: true }],
  ])('refuses %s = %j and names the field', (field, value) => {
    let error: { readonly code?: string; readonly data?: { readonly param?: string } } = {};
    try {
      check({ [field]: value });
    } catch (thrown) {
      error = thrown as typeof error;
    }
    expect([error.code, error.data?.param?.split('.')[0]]).toEqual(['PARAMETER_BAD', field]);
  });
});

describe('the database of a path', () => {
  const clock = new ManualClock();
  const routes = gatewayRoutes({ options: gatewayOptions.parse({}), clock } as never);
  const gatewayOf = (checkDatabase: (name: string) => Promise<unknown>) =>
    new Gateway({
      listener: { listen: async () => ({ port: 0 }), close: async () => undefined },
      routes,
      clock,
      random: new CountingRandom(),
      logger: new EventLog(),
      metrics: silentMetrics,
      options: gatewayOptions.parse({}),
      apiKey: undefined,
      checkDatabase,
    });
  const ask = async (gateway: Gateway, { method, pattern }: Route) => {
    const path = `/_db/books${pattern.replaceAll(/:\w+/g, 'x')}`;
    const { signal } = new AbortController();
    return gateway.handle({
      method,
      path,
      headers: { host: 'localhost' },
      query: new URLSearchParams(),
      body: utf8.encode('{}'),
      signal,
    } as never);
  };

  it('is asked for where a route uses it; cursors and models answer while the metadata store is away', async () => {
    const away = gatewayOf(() => Promise.reject(platformError('METADATA_UNAVAILABLE', 'away')));
    const independent = routes.filter(({ style, pattern }) => style !== 'arango' || pattern === '/_api/cursor/:id');
    expect(independent.length).toBeGreaterThan(6);
    for (const route of routes) {
      const body = String((await ask(away, route)).body);
      expect([route.pattern, body.includes('METADATA_UNAVAILABLE') || body.includes('away')]).toEqual([
        route.pattern,
        !independent.includes(route),
      ]);
    }
  });
});

it('HEAD of a route that streams ends the stream and its deadline at once', async () => {
  const clock = new ManualClock();
  let ended = 0;
  const body = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: false as const, value: utf8.encode('x') }),
      return: async () => {
        ended++;
        return { done: true as const, value: undefined };
      },
    }),
  };
  const gateway = new Gateway({
    listener: { listen: async () => ({ port: 0 }), close: async () => undefined },
    routes: [{ method: 'GET', pattern: '/x', style: 'openai', handle: async () => ({ status: 200, headers: {}, body }) }],
    clock,
    random: new CountingRandom(),
    logger: new EventLog(),
    metrics: silentMetrics,
    options: gatewayOptions.parse({}),
    apiKey: undefined,
    checkDatabase: async () => undefined,
  });
  const { signal } = new AbortController();
  const request = { path: '/x', headers: {}, query: new URLSearchParams(), body: utf8.encode(''), signal };
  const head = await gateway.handle({ ...request, method: 'HEAD' } as never);
  expect([head.status, head.body, ended, clock.timers]).toEqual([200, '', 1, 0]);
  const { body: streamed } = await gateway.handle({ ...request, method: 'GET' } as never);
  expect(clock.timers).toBe(1);
  for await (const _ of streamed as AsyncIterable<Uint8Array>) break;
  expect([ended, clock.timers]).toEqual([2, 0]);
});

describe('the id of a request', () => {
  const log = new EventLog();
  const fail = async (): Promise<never> => {
    throw new TypeError('a bug');
  };
  const gateway = new Gateway({
    listener: { listen: async () => ({ port: 0 }), close: async () => undefined },
    routes: ['/v1/x', '/v1/messages', '/_api/x'].map((pattern) => ({ method: 'GET', pattern, style: 'openai', handle: fail })),
    clock: new ManualClock(),
    random: new CountingRandom(),
    logger: log,
    metrics: silentMetrics,
    options: gatewayOptions.parse({}),
    apiKey: undefined,
    checkDatabase: async () => undefined,
  });
  const ask = async (path: string, headers: { readonly [name: string]: string }) => {
    const request = {
      method: 'GET',
      path,
      headers: { host: 'localhost', ...headers },
      body: utf8.encode(''),
      signal: new AbortController().signal,
    };
    const response = await gateway.handle({ ...request, query: new Map() });
    return { id: response.headers['x-request-id'], body: JSON.parse(String(response.body)) };
  };

  it('is the client’s in answer, error and log, of every path', async () => {
    for (const path of ['/v1/x', '/v1/messages', '/_api/x', '/nowhere'])
      expect((await ask(path, { 'x-request-id': 'mine' })).id).toBe('mine');
    expect(log.events.map(({ fields }) => fields?.['request'])).toEqual(['mine', 'mine', 'mine']);
    expect((await ask('/v1/x', { 'x-request-id': 'mine' })).body).toEqual({
      error: { message: expect.any(String), type: 'server_error', param: null, code: 'internal', request_id: 'mine' },
    });
    expect((await ask('/v1/messages', { 'x-request-id': 'mine' })).body).toEqual({
      type: 'error',
      error: { message: expect.any(String), type: 'api_error', param: null, code: 'internal' },
      request_id: 'mine',
    });
  });

  it('is made where the client sends none, also for what is no request', async () => {
    const [one, two] = [await ask('/v1/x', {}), await ask('/v1/x', {})];
    expect(one.id).toMatch(/^req_/);
    expect(two.id).not.toBe(one.id);
    const refused = gateway.refuse({ status: 413, reason: 'too large', path: '/v1/messages', method: 'POST' });
    expect(JSON.parse(String(refused.body))).toMatchObject({
      error: { type: 'request_too_large' },
      request_id: refused.headers['x-request-id'],
    });
  });
});

describe('CursorStore', () => {
  let clock: ManualClock;
  let cursors: CursorStore;
  let aborted: number;
  let heldBytes: number;
  let heldBytesMax: number;
  let placesLeft: number;
  beforeEach(() => {
    clock = new ManualClock();
    cursors = new CursorStore({ clock, random: new CountingRandom(), options: { cursorsMax: 2, cursorsBytesMax: 5_000 } });
    heldBytes = 0;
    heldBytesMax = 1_000_000;
    aborted = 0;
    placesLeft = 0;
  });
  const cursorOf = (blocks: () => AsyncIterable<readonly JsonValue[]>): QueryCursor => ({
    id: 'q',
    blocks: { [Symbol.asyncIterator]: () => blocks()[Symbol.asyncIterator]() },
    bufferedBytes: 0,
    // One byte a value.
    held: {
      hold: () => {
        if (++heldBytes > heldBytesMax) throw baseError('QUEUE_FULL', 'over the memory limit');
        return 1;
      },
      release: (bytes) => {
        heldBytes -= bytes;
      },
    },
    place: {
      leave: () => void placesLeft++,
      take: () => {
        if (placesLeft === 0) throw baseError('QUEUE_FULL', 'no place');
        placesLeft--;
      },
    },
    extra: () => ({ stats: {}, warnings: [] }) as never,
  });
  const rows = (...blocks: readonly (readonly JsonValue[])[]): QueryCursor =>
    cursorOf(async function* () {
      yield* blocks;
    });
  const open = (cursor: QueryCursor, { batchSize = 2, aheadBytesMax = 1_000 } = {}) =>
    cursors.first(cursor, { database: 'db', batchSize, ttlMs: 1000, aheadBytesMax, abort: () => void aborted++ });

  it('cuts any blocks into batches, says only at the last that there is no more, and then is gone', async () => {
    const first = await open(rows([1], [2, 3, 4], [], [5]));
    expect(first).toMatchObject({ result: [1, 2], hasMore: true, extra: undefined });
    const id = first.id as string;
    expect(await cursors.next('db', id)).toMatchObject({ result: [3, 4], hasMore: true });
    expect(await cursors.next('db', id)).toMatchObject({ id, result: [5], hasMore: false, extra: expect.any(Object) });
    await expect(cursors.next('db', id)).rejects.toMatchObject({ code: 'CURSOR_NOT_FOUND' });
    expect([clock.timers, aborted]).toEqual([0, 0]);
  });

  it('is no cursor when one batch holds all', async () => {
    expect(await open(rows([1, 2]))).toMatchObject({ id: undefined, result: [1, 2], hasMore: false });
    expect(await open(rows())).toMatchObject({ id: undefined, result: [], hasMore: false });
  });

  it('ends after its time to live, which reading renews', async () => {
    const { id = '' } = await open(rows([1, 2, 3, 4, 5]));
    await clock.advance(900);
    await cursors.next('db', id);
    await clock.advance(900);
    expect(aborted).toBe(0);
    await clock.advance(100);
    expect(aborted).toBe(1);
    await expect(cursors.next('db', id)).rejects.toMatchObject({ code: 'CURSOR_NOT_FOUND' });
  });

  it('is ended by delete, once', async () => {
    const { id = '' } = await open(rows([1, 2, 3]));
    cursors.delete('db', id);
    expect(codeOf(() => cursors.delete('db', id))).toBe('CURSOR_NOT_FOUND');
    expect([aborted, clock.timers]).toEqual([1, 0]);
  });

  it('is read by one request at a time; deleted meanwhile it stays gone', async () => {
    let finish: () => void = () => undefined;
    const slow = cursorOf(async function* () {
      yield [1, 2, 3];
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      yield [4, 5, 6, 7];
    });
    const { id = '' } = await open(slow);
    const reading = cursors.next('db', id);
    await settle();
    await expect(cursors.next('db', id)).rejects.toMatchObject({ code: 'CURSOR_BUSY' });
    cursors.delete('db', id);
    finish();
    await reading.catch(() => undefined);
    expect([aborted, clock.timers]).toEqual([1, 0]);
  });

  it('refuses a place beyond the bound before a query runs, says when to come back, and gives it back; close ends all', async () => {
    await open(rows([1, 2, 3]));
    const place = cursors.reserve();
    await clock.advance(300);
    const refused = expect.objectContaining({ code: 'CURSORS_FULL', httpStatus: 429, data: { retryAfterSeconds: 1 } });
    expect(() => cursors.reserve()).toThrowError(refused);
    place.release();
    place.release();
    cursors.reserve().release();
    await open(rows([1, 2, 3]));
    expect(() => cursors.reserve()).toThrowError(expect.objectContaining({ code: 'CURSORS_FULL' }));
    cursors.close();
    expect([aborted, clock.timers, heldBytes]).toEqual([2, 0, 0]);
  });

  it('makes room by those whose time is over, of which a timer was late to tell, the least recently used first', async () => {
    const late = new CursorStore({
      clock: {
        nowMs: () => clock.nowMs(),
        monotonicMs: () => clock.monotonicMs(),
        sleep: clock.sleep,
        setTimer: () => ({ cancel: () => undefined }),
      },
      random: new CountingRandom(),
      options: { cursorsMax: 2, cursorsBytesMax: 5_000 },
    });
    const options = { database: 'db', batchSize: 1, aheadBytesMax: 0, abort: () => void aborted++ };
    const first = await late.first(rows([1, 2, 3, 4]), { ...options, ttlMs: 1000 });
    const second = await late.first(rows([1, 2, 3, 4]), { ...options, ttlMs: 1000 });
    await late.next('db', first.id as string); // used now: the second is older
    expect(() => late.reserve()).toThrowError(expect.objectContaining({ code: 'CURSORS_FULL' }));
    await clock.advance(1000);
    late.reserve().release();
    expect(aborted).toBe(1);
    await expect(late.next('db', second.id as string)).rejects.toMatchObject({ code: 'CURSOR_NOT_FOUND' });
    expect(await late.next('db', first.id as string)).toMatchObject({ result: [3] });
  });

  it('finds results ahead of its reader, within a bound, so that a short one ends its query; one that streams waits', async () => {
    const blocks = Array.from({ length: 10 }, (_, i) => [i]);
    let ended = 0;
    let found = 0;
    const counting = (count: number) =>
      cursorOf(async function* () {
        for (let i = 0; i < count; i++, found++) yield blocks[i % 10] as readonly number[];
        ended++;
      });
    await open(counting(10), { batchSize: 1 });
    await settle();
    expect([ended, found]).toEqual([1, 10]);
    cursors.close();
    found = 0;
    await open(counting(5_000), { batchSize: 1 });
    await settle();
    expect(ended).toBe(1);
    expect(heldBytes).toBe(1_000);
    cursors.close();
    found = 0;
    await open(counting(10), { batchSize: 1, aheadBytesMax: 0 });
    await settle();
    expect([ended, found]).toEqual([1, 1]);
  });

  it('accounts for what it keeps: a batch over the memory limit of its query fails, and nothing stays', async () => {
    heldBytesMax = 100;
    const many = rows(...Array.from({ length: 200 }, (_, i) => [i]));
    await expect(open(many, { batchSize: 150 })).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    expect([aborted, clock.timers]).toEqual([1, 0]);
    heldBytes = 0;
    const { id = '' } = await open(rows([1, 2, 3, 4, 5]));
    await settle();
    expect(heldBytes).toBe(3);
    await cursors.next('db', id);
    expect(heldBytes).toBe(1);
    await cursors.next('db', id);
    expect(heldBytes).toBe(0);
  });

  it('keeps an error that came while nobody read for its next reader', async () => {
    heldBytesMax = 10;
    const { id = '' } = await open(rows(...Array.from({ length: 20 }, (_, i) => [i])));
    await settle();
    await expect(cursors.next('db', id)).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    await expect(cursors.next('db', id)).rejects.toMatchObject({ code: 'CURSOR_NOT_FOUND' });
    expect([aborted, clock.timers]).toEqual([1, 0]);
  });

  it('a query that is not at its end leaves its place while nobody reads, and takes one only for what is not found yet', async () => {
    const streaming = { batchSize: 2, aheadBytesMax: 0 };
    const { id = '' } = await open(rows([1, 2, 3, 4, 5], [6], [7]), streaming);
    await settle();
    expect(placesLeft).toBe(1);
    placesLeft = 0; // others have it
    expect((await cursors.next('db', id)).result).toEqual([3, 4]); // found already
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(cursors.next('db', id)).rejects.toMatchObject({ code: 'QUEUE_FULL', httpStatus: 429 });
    expect(aborted).toBe(0);
    placesLeft = 1;
    expect(await cursors.next('db', id)).toMatchObject({ result: [5, 6], hasMore: true });
    await settle();
    expect(placesLeft).toBe(1);
    expect(await cursors.next('db', id)).toMatchObject({ result: [7], hasMore: false });
    await open(rows([1, 2, 3]));
    await settle();
    expect(placesLeft).toBe(0); // at its end: it has none to leave
  });

  it('all together keep no more than cursorsBytesMax: batches are shorter, nothing is found ahead, no further cursor is opened', async () => {
    cursors = new CursorStore({ clock, random: new CountingRandom(), options: { cursorsMax: 100, cursorsBytesMax: 10 } });
    const block = Array.from({ length: 4 }, (_, i) => i);
    const blocks = Array.from({ length: 50 }, () => block);
    const first = await open(rows(...blocks), { batchSize: 1 });
    await settle();
    expect(heldBytes).toBeLessThan(10 + block.length);
    expect(() => cursors.reserve()).toThrowError(expect.objectContaining({ code: 'CURSORS_FULL' }));
    const second = await open(rows(...blocks), { batchSize: 100 }); // its place was taken before
    expect(second).toMatchObject({ result: block, hasMore: true });
    placesLeft = 100;
    for (const [id, count] of [
      [first.id, 199],
      [second.id, 196],
    ] as const) {
      let read = 0;
      for (let hasMore = true; hasMore; ) {
        const batch = await cursors.next('db', id as string);
        read += batch.result.length;
        hasMore = batch.hasMore;
        expect(heldBytes).toBeLessThanOrEqual(10 + 2 * block.length);
      }
      expect(read).toBe(count);
    }
    expect(heldBytes).toBe(0);
    cursors.reserve().release();
  });

  it.each(['read to its end', 'deleted'])('counts results that were there before they were read as a whole until it is %s', async (how) => {
    cursors = new CursorStore({ clock, random: new CountingRandom(), options: { cursorsMax: 100, cursorsBytesMax: 10 } });
    const buffered = { ...rows([1, 2], [3, 4], [5, 6]), bufferedBytes: 50 };
    expect(await open(rows([1, 2, 3]), { batchSize: 3 })).toMatchObject({ hasMore: false });
    const { id = '' } = await open(buffered, { aheadBytesMax: 0 });
    const refused = expect.objectContaining({ code: 'CURSORS_FULL' });
    expect(() => cursors.reserve()).toThrowError(refused);
    await cursors.next('db', id);
    expect(() => cursors.reserve()).toThrowError(refused);
    if (how === 'deleted') cursors.delete('db', id);
    else for (let hasMore = true; hasMore; ) ({ hasMore } = await cursors.next('db', id));
    cursors.reserve().release();
  });

  it.each([
    [[10_000, 4_300], 5],
    [[900_000, 800_000], 60],
    [[1_000, 100], 1],
  ])('says to come back when the first of lives %j ends, in whole seconds, within a minute', async (lives, seconds) => {
    for (const ttlMs of lives)
      await cursors.first(rows([1, 2, 3]), { database: 'db', batchSize: 1, ttlMs, aheadBytesMax: 0, abort: () => undefined });
    const refused = expect.objectContaining({ code: 'CURSORS_FULL', data: { retryAfterSeconds: seconds } });
    expect(() => cursors.reserve()).toThrowError(refused);
  });

  it("is nobody's in another database", async () => {
    const { id = '' } = await open(rows([1, 2, 3]));
    await expect(cursors.next('other', id)).rejects.toMatchObject({ code: 'CURSOR_NOT_FOUND' });
    expect(() => cursors.delete('other', id)).toThrowError(expect.objectContaining({ code: 'CURSOR_NOT_FOUND' }));
    expect((await cursors.next('db', id)).result).toEqual([3]);
  });

  it('passes the error of its query and is gone', async () => {
    const failing = cursorOf(async function* () {
      yield [1, 2, 3];
      throw baseError('DEADLINE_EXCEEDED', 'late');
    });
    const { id = '' } = await open(failing);
    await expect(cursors.next('db', id)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expect(cursors.next('db', id)).rejects.toMatchObject({ code: 'CURSOR_NOT_FOUND' });
  });
});
