import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { utf8 } from '../../src/base/index.js';
import { Gateway, type GatewayOptions, gatewayOptions, type Route, type RouteContext } from '../../src/gateway/index.js';
import { responses } from '../../src/gateway/responses.js';
import type { HttpResponse } from '../../src/platform/index.js';
import { FastifyHttpListener, NodeClock, NodeRandom } from '../../src/platform/node/index.js';
import { shardingError } from '../../src/sharding/errors.js';
import { EventLog, silentMetrics } from '../support/silentPorts.js';

/** A request that only its signal ends, and one that not even that ends. */
const waiting = ({ parameters, signal }: RouteContext): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
    const heeds = (): void => {
      if (parameters['how'] === 'heeds') reject(signal.reason);
      if (parameters['how'] === 'finishes') resolve(responses.arango(200, { done: true }));
      if (parameters['how'] === 'streams') finish();
    };
    let finish = (): void => undefined;
    if (parameters['how'] === 'streams') {
      const rest = new Promise<void>((done) => {
        finish = done;
      });
      const body = async function* () {
        yield utf8.encode('first ');
        await rest;
        yield utf8.encode('last');
      };
      resolve({ status: 200, headers: {}, body: body() });
    }
    signal.addEventListener('abort', heeds, { once: true });
  });

const chunk = new Uint8Array(65_536);
const chunks = async function* (count: number) {
  for (let i = 0; i < count; i++) yield chunk;
};
/** 32 MiB, more than the buffers of a connection take. */
const large = (how: string | undefined): HttpResponse['body'] => (how === 'whole' ? new Uint8Array(512 * chunk.length) : chunks(512));
/** Says something, and the rest much later. */
const slow = async function* () {
  yield utf8.encode('first ');
  await new NodeClock().sleep(500);
  yield utf8.encode('last');
};

const routes: readonly Route[] = [
  {
    method: 'GET',
    pattern: '/large/:how',
    style: 'arango',
    handle: async ({ parameters }) => ({ status: 200, headers: {}, body: large(parameters['how']) }),
  },
  { method: 'GET', pattern: '/health/live', style: 'openai', handle: async () => responses.json(200, { status: 'live' }) },
  { method: 'GET', pattern: '/slow', style: 'arango', handle: async () => ({ status: 200, headers: {}, body: slow() }) },
  { method: 'GET', pattern: '/_api/thing/:key', style: 'arango', handle: async ({ parameters }) => responses.arango(200, parameters) },
  {
    method: 'POST',
    pattern: '/_api/thing/:key',
    style: 'arango',
    handle: async (context) => responses.arango(200, { got: context.json() }),
  },
  { method: 'GET', pattern: '/wait/:how', style: 'arango', handle: (context) => waiting(context) },
  { method: 'POST', pattern: '/tokenize', style: 'openai', handle: async (context) => responses.json(200, { got: context.json() }) },
  { method: 'POST', pattern: '/v1/embeddings', style: 'openai', handle: async (context) => responses.json(200, { got: context.json() }) },
];

interface Answer {
  readonly status: number;
  readonly headers: string;
  readonly body: { readonly [name: string]: unknown };
}

describe('every answer of the HTTP surface has the shape of ArangoDB or of OpenAI', () => {
  let gateway: Gateway;
  let port: number;
  const start = async (options: Partial<GatewayOptions> = {}): Promise<void> => {
    gateway = new Gateway({
      listener: new FastifyHttpListener(),
      routes,
      clock: new NodeClock(),
      random: new NodeRandom(),
      logger: new EventLog(),
      metrics: silentMetrics,
      options: gatewayOptions.parse({ bodyBytesMax: 2_048, bodyIdleMs: 200, ...options }),
      apiKey: undefined,
      checkDatabase: async (name) => {
        if (name !== 'known') throw shardingError('DATABASE_NOT_FOUND', `database not found: ${name}`);
      },
    });
    ({ port } = await gateway.start({ host: '127.0.0.1', port: 0 }));
  };
  beforeEach(() => start());
  afterEach(() => gateway.stop());

  /** Sends bytes and reads until the server closes. */
  const raw = (text: string, more: (write: (text: string) => boolean) => void = () => undefined): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(text);
        more((part) => socket.write(part));
      });
      let answer = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        answer += chunk;
      });
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
    });
  const parsed = (answer: string): Answer => {
    const [headers = '', body = ''] = answer.split('\r\n\r\n');
    return { status: Number(headers.split(' ')[1]), headers: headers.toLowerCase(), body: body === '' ? {} : JSON.parse(body) };
  };
  const ask = async (line: string, headers = '', body = ''): Promise<Answer> =>
    parsed(await raw(`${line} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n${headers}\r\n${body}`));
  const arango = (code: number, errorNum: number, ostrakaCode: string) => ({
    error: true,
    code,
    errorNum,
    ostrakaCode,
    errorMessage: expect.any(String),
  });
  const works = async (): Promise<void> =>
    expect(await ask('GET /_api/thing/a')).toMatchObject({ status: 200, body: { key: 'a', error: false } });

  it.each([
    ['GET /nowhere', 404, 404, 'ROUTE_UNKNOWN'],
    ['GET /%ff', 404, 404, 'ROUTE_UNKNOWN'],
    ['GET //', 404, 404, 'ROUTE_UNKNOWN'],
    ['GET *', 404, 404, 'ROUTE_UNKNOWN'],
    ['GET /_api/thing/%ff', 400, 400, 'REQUEST_MALFORMED'],
    ['GET /_db/%ff/_api/thing/a', 400, 400, 'REQUEST_MALFORMED'],
    ['GET /_db/nope/_api/thing/a', 404, 1228, 'DATABASE_NOT_FOUND'],
    ['GET /_db/nope/nowhere', 404, 1228, 'DATABASE_NOT_FOUND'],
    ['GET /_db/known/nowhere', 404, 404, 'ROUTE_UNKNOWN'],
    ['DELETE /_api/thing/a', 405, 405, 'METHOD_NOT_ALLOWED'],
    ['PROPFIND /_api/thing/a', 405, 405, 'METHOD_NOT_ALLOWED'],
    ['PROPFIND /nowhere', 404, 404, 'ROUTE_UNKNOWN'],
    ['OPTIONS /_api/thing/a', 405, 405, 'METHOD_NOT_ALLOWED'],
    ['FOO /_api/thing/a', 405, 405, 'METHOD_NOT_ALLOWED'],
    ['foo /_api/thing/a', 405, 405, 'METHOD_NOT_ALLOWED'],
    ["M-SEARCH*'x /_api/thing/a", 405, 405, 'METHOD_NOT_ALLOWED'],
    ['FOO /nowhere', 404, 404, 'ROUTE_UNKNOWN'],
    [`GET /_api/thing/${'a'.repeat(20_000)}`, 431, 431, 'HEADERS_TOO_LARGE'],
  ])('%.60s → %i, errorNum %i', async (line, status, errorNum, code) => {
    const answer = await ask(line);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ ...arango(status, errorNum, code), ...(status === 405 ? { allow: 'GET, HEAD, POST' } : {}) });
    if (status === 405) expect(answer.body['errorMessage']).toContain(`method ${line.split(' ')[0]} is not supported`);
    if (status === 405) expect(answer.headers).toContain('\r\nallow: get, head, post');
    await works();
  });

  it.each([
    ['GET /v1/nowhere', 404, 'route_unknown'],
    ['GET /v1/%ff', 404, 'route_unknown'],
    ['GET /v1/embeddings', 405, 'method_not_allowed'],
    ['FOO /v1/embeddings', 405, 'method_not_allowed'],
    ['GET /tokenize', 405, 'method_not_allowed'],
    ['POST /tokenize', 400, 'body_not_json'],
    ['POST /_db/known/tokenize', 400, 'body_not_json'],
    [`POST /v1/embeddings?${'a'.repeat(20_000)}`, 431, 'headers_too_large'],
  ])('%.40s → %i in the shape of OpenAI', async (line, status, code) => {
    const answer = await ask(line);
    expect(answer).toMatchObject({
      status,
      body: { error: { message: expect.any(String), type: 'invalid_request_error', param: null, code } },
    });
    await works();
  });

  it.each([
    ['a head over the limit', 'POST /v1/embeddings HTTP/1.1\r\nhost: a\r\nx: ', 'y'.repeat(20_000), 431, 'headers_too_large'],
    ['a head that goes on wrong', 'POST /v1/embeddings HTTP/1.1\r\nhost: a\r\nx', ' x\r\n\r\n', 400, 'request_malformed'],
    ['a long line', 'POST /v1/', `${'y'.repeat(20_000)} HTTP/1.1\r\n\r\n`, 431, 'headers_too_large'],
    [
      'a broken chunk',
      'POST /v1/embeddings HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      400,
      'request_malformed',
    ],
  ])('%s in several packets has the shape of its path', async (_name, first, rest, status, code) => {
    for (const before of ['', 'GET /_api/thing/a HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n']) {
      // Other requests in between: each write has arrived by itself.
      const answers = await raw(before || first, (write) => {
        const last = (): Promise<unknown> => works().then(() => write(rest));
        void (before
          ? works()
              .then(() => write(first))
              .then(last)
          : last());
      });
      const answer = parsed(answers.slice(answers.lastIndexOf('HTTP/1.1 ')));
      expect(answer).toMatchObject({ status, body: { error: { type: 'invalid_request_error', code } } });
    }
  });

  it.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400, 'REQUEST_MALFORMED'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost: a\r\nbroken\r\n\r\n', 400, 'REQUEST_MALFORMED'],
    ['no host', 'GET /_api/thing/a HTTP/1.1\r\n\r\n', 400, 'REQUEST_MALFORMED'],
    ['another version', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'REQUEST_MALFORMED'],
    [
      'two lengths',
      'POST /_api/thing/a HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'REQUEST_MALFORMED',
    ],
    ['a broken chunk', 'POST /_api/thing/a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n\r\n', 400, 'REQUEST_MALFORMED'],
    ['headers over the limit', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'HEADERS_TOO_LARGE'],
    [
      'an unknown expectation',
      'POST /_api/thing/a HTTP/1.1\r\nhost: a\r\nexpect: tea\r\ncontent-length: 0\r\n\r\n',
      417,
      'EXPECTATION_UNKNOWN',
    ],
    ['a proxy request', 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', 404, 'ROUTE_UNKNOWN'],
  ])('%s', async (_name, text, status, ostrakaCode) => {
    const answer = parsed(await raw(text));
    expect(answer).toMatchObject({ status, body: { error: true, code: status, errorNum: status, ostrakaCode } });
    expect(answer.headers).toContain('connection: close');
    await works();
  });

  it('garbage behind a whole request is answered after it, and closes', async () => {
    const answers = await raw('GET /_api/thing/a HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\nGARBAGE\r\n\r\n');
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(answers).toMatch(/"key":"a"[\s\S]*"ostrakaCode":"REQUEST_MALFORMED"/);
    await works();
  });

  it('requests that come in one packet are answered in their order', async () => {
    const one = (key: string, last = '') => `GET /_api/thing/${key} HTTP/1.1\r\nhost: 127.0.0.1\r\n${last}\r\n`;
    const answers = await raw(`${one('a')}${one('b')}${one('c', 'connection: close\r\n')}`);
    expect(answers.match(/"key":"."/g)).toEqual(['"key":"a"', '"key":"b"', '"key":"c"']);
  });

  it('HEAD is answered wherever GET is, without a body', async () => {
    expect(await raw('HEAD /_api/thing/a HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/,
    );
    expect(await raw('HEAD /nowhere HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 404 [\s\S]*\r\n\r\n$/);
  });

  it('takes a body of any content type, whole, chunked and empty; the absolute form too', async () => {
    const body = '{"a":1}';
    expect(await ask('POST /_api/thing/a', `content-length: ${body.length}\r\n`, body)).toMatchObject({
      status: 200,
      body: { got: { a: 1 } },
    });
    expect(await ask('POST http://127.0.0.1/_api/thing/a', 'transfer-encoding: chunked\r\n', `7\r\n${body}\r\n0\r\n\r\n`)).toMatchObject({
      status: 200,
    });
    expect(await ask('POST /_api/thing/a', 'content-type: ;;\r\ncontent-length: 2\r\n', '{}')).toMatchObject({
      status: 415,
      body: arango(415, 415, 'CONTENT_TYPE_WRONG'),
    });
    expect(await ask('POST /_api/thing/a')).toMatchObject({ status: 400, body: arango(400, 600, 'BODY_NOT_JSON') });
  });

  it.each(['x-arango-trx-id: 7', 'x-arango-async: store'])('refuses %s, which would make it another request', async (header) => {
    const answer = await ask('GET /_api/thing/a', `${header}\r\n`);
    expect(answer).toMatchObject({ status: 501, body: { ...arango(501, 9, 'NOT_SUPPORTED'), param: header.split(':')[0] } });
  });

  it('a body that does not come whole is answered with 408 within bodyIdleMs, and closed', async () => {
    for (const [path, sent] of [
      ['/_api/thing/a', '{"a"'],
      ['/_api/thing/a', ''],
    ] as const) {
      const answer = parsed(
        await raw(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 500\r\n\r\n${sent}`, (write) =>
          setTimeout(() => write('x'.repeat(496)), 400),
        ),
      );
      expect(answer).toMatchObject({ status: 408, body: arango(408, 408, 'BODY_INCOMPLETE') });
    }
    const openAi = parsed(
      await raw('POST /v1/embeddings HTTP/1.1\r\nhost: a\r\ncontent-length: 500\r\n\r\n{', (write) =>
        setTimeout(() => write('x'.repeat(499)), 400),
      ),
    );
    expect(openAi).toMatchObject({ status: 408, body: { error: { code: 'body_incomplete', type: 'invalid_request_error' } } });
    await works();
  }, 2_000);

  it.each([
    ['declared', (length: number) => `content-length: ${length}\r\n\r\n`, (part: string) => part],
    ['chunked', () => 'transfer-encoding: chunked\r\n\r\n', (part: string) => `${part.length.toString(16)}\r\n${part}\r\n`],
  ])('a body over the limit (%s) is answered with 413 that its client can read while it sends all of it', async (_name, header, frame) => {
    const part = 'x'.repeat(1_000_000);
    const head = `POST /_api/thing/a HTTP/1.1\r\nhost: a\r\n${header(part.length * 40)}`;
    const answer = parsed(
      await raw(head, (write) => {
        for (let i = 0; i < 40; i++) write(frame(part));
        write(header(0).startsWith('transfer') ? '0\r\n\r\n' : '');
      }),
    );
    expect(answer).toMatchObject({ status: 413, body: arango(413, 413, 'BODY_TOO_LARGE') });
    await works();
  });

  /** Sends a request that stays open, and stops the server once it has come in. */
  const stopDuring = async (head: string): Promise<string> => {
    const answer = raw(head);
    await works(); // over a later connection: the first request is in by then
    await gateway.stop();
    return answer;
  };
  const open = (path: string, method = 'GET') => `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n`;

  it.each(['heeds', 'ignores'])('a request that %s its abort when the server stops is answered with a retryable 503', async (how) => {
    const answer = parsed(await stopDuring(`${open(`/wait/${how}`)}\r\n`));
    expect(answer).toMatchObject({ status: 503, body: arango(503, 30, 'SHARD_STOPPING') });
    expect(answer.headers).toMatch(/retry-after: 1[\s\S]*connection: close|connection: close[\s\S]*retry-after: 1/);
  });

  it('a request that ends by itself when the server stops has its own answer, and a stream its end', async () => {
    const answer = parsed(await stopDuring(`${open('/wait/finishes')}\r\n`));
    expect(answer).toMatchObject({ status: 200, body: { done: true } });
    expect(answer.headers).toContain('connection: close');
    await start();
    expect(await stopDuring(`${open('/wait/streams')}\r\n`)).toMatch(/first [\s\S]*last/);
  });

  it('a body that is still on its way when the server stops is answered with 503', async () => {
    await gateway.stop();
    await start({ bodyIdleMs: 30_000 });
    const answer = parsed(await stopDuring(`${open('/_api/thing/a', 'POST')}content-length: 500\r\n\r\n{`));
    expect(answer).toMatchObject({ status: 503, body: arango(503, 30, 'SHARD_STOPPING') });
  });

  it('connections without a request do not hold a stop up', async () => {
    const idle = raw('');
    const used = raw(`${open('/_api/thing/a')}\r\n`);
    await works();
    await gateway.stop();
    expect(await used).toContain('"key":"a"');
    await idle;
  }, 1_000);

  it('a client that sends more than discardedBytesMax after a refusal is cut off', async () => {
    await gateway.stop();
    await start({ discardedBytesMax: 1_000_000 });
    const sent = await new Promise<number>((resolve) => {
      const socket = connect(port, '127.0.0.1', () =>
        socket.write('POST /_api/thing/a HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n'),
      );
      const timer = setInterval(() => socket.write('x'.repeat(100_000)), 1);
      socket.on('data', () => undefined).on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(timer);
        resolve(socket.bytesWritten);
      });
    });
    expect(sent).toBeLessThan(50_000_000);
    await works();
  });

  describe('clients that do not read', () => {
    beforeEach(async () => {
      await gateway.stop();
      await start({ answerIdleMs: 100, answersUnsentBytesMax: 1_024 });
    });
    const unread = (path: string): Promise<Socket> =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(`${open(path)}\r\n`));
        socket.on('error', () => undefined);
        socket.once('readable', () => resolve(socket)); // the head has come; nothing is read of it
      });

    it.each(['whole', 'streamed'])('take no memory beyond the limit: others get a retryable 503 until they are cut (%s)', async (how) => {
      const sockets = [await unread(`/large/${how}`)];
      const refused = await ask('GET /_api/thing/a');
      expect(refused).toMatchObject({ status: 503, body: arango(503, 21002, 'ANSWERS_UNSENT') });
      expect(refused.headers).toContain('retry-after: 1');
      expect(await ask('GET /health/live')).toMatchObject({ status: 200, body: { status: 'live' } });
      let tries = 0;
      while ((await ask('GET /_api/thing/a')).status === 503) tries++;
      expect(tries).toBeLessThan(10_000);
      await works();
      for (const socket of sockets) socket.destroy();
    });

    it('free what waited for them when they close', async () => {
      const socket = await unread('/large/whole');
      expect((await ask('GET /_api/thing/a')).status).toBe(503);
      socket.resetAndDestroy();
      while ((await ask('GET /_api/thing/a')).status === 503);
      await works();
    });

    it.each(['whole', 'streamed'])('are not those that read: a large answer arrives (%s)', async (how) => {
      const answer = await fetch(`http://127.0.0.1:${port}/large/${how}`);
      expect((await answer.arrayBuffer()).byteLength).toBe(512 * chunk.length);
      await works();
    });

    it('are not those whose answer is still being made', async () => {
      expect(await (await fetch(`http://127.0.0.1:${port}/slow`)).text()).toBe('first last');
    });
  });
});
