import { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { type HttpListener, type HttpRefusal, type HttpRequest, type HttpResponse, platformError } from '../index.js';
import { discardRequest } from './discardRequest.js';
import { RequestLines } from './RequestLines.js';
import { type RunningRequest, RunningRequests } from './RunningRequests.js';
import { readRequestBody } from './readRequestBody.js';
import { UnsentAnswers } from './UnsentAnswers.js';

type ListenOptions = Parameters<HttpListener['listen']>[0];
/** What Node's parser reports. */
type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

const timeouts = {
  /** Reading the head and the whole of a request: slow senders are cut off. */
  headMs: 10_000,
  requestMs: 60_000,
  /** How often the two above are looked at. */
  checkMs: 1_000,
  keepAliveMs: 72_000,
  /** For the client of a refused request to stop sending. */
  discardMs: 10_000,
  /** For the work of running requests to heed that the server stops, and for all of the stop; both well within that of the process. */
  heedMs: 1_000,
  stopMs: 2_000,
  connectionsMax: 4_096,
  headerBytesMax: 16_384,
} as const;

/**
 * HttpListener on fastify: its server and limits, none of its routing, parsing or answers. A hook before its routing answers every
 * request, and the router sees one path only, since it would refuse some paths in its own words.
 */
export class FastifyHttpListener implements HttpListener {
  #server: FastifyInstance | undefined;
  readonly #running = new RunningRequests();

  async listen(options: ListenOptions): Promise<{ readonly port: number }> {
    const answering = new WeakMap<object, ServerResponse>();
    const lines = new RequestLines();
    const unsent = new UnsentAnswers({ idleMs: options.answerIdleMs, bytesMax: options.answersUnsentBytesMax });
    const server = fastify({
      logger: false,
      exposeHeadRoutes: false,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.keepAliveMs,
      // `close` ends connections itself, once their requests are answered.
      forceCloseConnections: false,
      return503OnClosing: false,
      rewriteUrl: () => '/',
      http: {
        maxHeaderSize: timeouts.headerBytesMax,
        headersTimeout: timeouts.headMs,
        connectionsCheckingInterval: timeouts.checkMs,
        // Node would answer without a body; `refusalOf` looks at it.
        requireHostHeader: false,
      },
      clientErrorHandler: (reported, socket) => {
        const error = reported as unknown as ClientError; // its types describe a Buffer as JSON
        const response = answering.get(socket);
        const isAnswering = response !== undefined && !response.writableFinished;
        const line = response && !response.req.complete ? lineOf(response.req) : lines.of(socket as Socket, response);
        const refusal = refusalOfParser(error, line);
        const end = (refused: HttpRefusal) => socket.writable && socket.end(rawAnswer(options.onRefused(refused)));
        if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
        else if (!isAnswering) end(refusal);
        // Behind a whole request: its answer goes first, and the first line of the packet is that request's.
        else if (response.req.complete) response.once('finish', () => end({ ...refusal, status: 400, path: '', method: '' }));
        // Bytes in the middle of an answer would be read as a part of it.
        else if (response.headersSent) socket.destroy();
        else end(refusal);
      },
    });
    server.server.maxConnections = timeouts.connectionsMax;
    server.server.on('request', (request, response) => answering.set(request.socket, response));
    server.server.on('connection', (socket: Socket) => lines.follow(socket, () => answering.get(socket)));
    // Node's own answers to these have no body, and a CONNECT without a listener is cut off.
    server.server.on('checkExpectation', (request, response) => void refuse(request, response, options, expectationFailed(request)));
    server.server.on('connect', (request: IncomingMessage, socket: Socket) =>
      socket.end(
        rawAnswer(options.onRefused({ status: 405, reason: 'CONNECT is for proxies', path: request.url ?? '', method: 'CONNECT' })),
      ),
    );
    // Methods that fastify does not know have the hook through this; the handler itself never runs.
    server.setNotFoundHandler(() => undefined);
    server.addHook('onRequest', (request, reply) => answer(request, reply, { options, running: this.#running, unsent }));
    this.#server = server;
    try {
      await server.listen({ host: options.host, port: options.port });
    } catch (error) {
      if ((error as { code?: string }).code !== 'EADDRINUSE') throw error;
      throw platformError('PORT_IN_USE', `port ${options.port} on ${options.host} is taken`, { cause: error });
    }
    return { port: (server.server.address() as AddressInfo).port };
  }

  /** Takes no more connections, aborts the work of running requests so that each is answered (503), and then cuts what is left. */
  async close(): Promise<void> {
    const closed = this.#server?.close();
    await this.#running.stop({ heedMsMax: timeouts.heedMs, stopMsMax: timeouts.stopMs });
    this.#server?.server.closeAllConnections();
    await closed;
  }
}

interface Refused {
  readonly status: number;
  readonly reason: string;
  readonly isFull?: boolean;
}

const expectationFailed = (request: IncomingMessage): Refused => ({
  status: 417,
  reason: `the expectation ${String(request.headers.expect).slice(0, 80)} is not known`,
});

const statusOfCode = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
]);

/** Method and path of a request that could not be parsed, by its first line where that is known, else by the last packet. */
const refusalOfParser = (error: ClientError, line: string | undefined) => {
  const head = line ?? error.rawPacket?.toString('latin1', 0, timeouts.headerBytesMax) ?? '';
  const [, method = '', url = '', version] = /^([!#$%&'*+.^_`|~\w-]+) (\S+)( HTTP\/1\.[01]\r?\n)?/.exec(head) ?? [];
  const isUnknownMethod = error.code === 'HPE_INVALID_METHOD' && version !== undefined;
  const status = isUnknownMethod ? 405 : (statusOfCode.get(error.code ?? '') ?? 400);
  return { status, reason: error.message, path: pathOf(url), method: shortMethod(method) };
};

/** Of a request that was parsed, and whose body is refused. */
const lineOf = (request: IncomingMessage): string => `${request.method} ${urlOf(request)} HTTP/1.1\r\n`;

const methodCharactersMax = 40;

const shortMethod = (method: string): string => (method.length > methodCharactersMax ? `${method.slice(0, methodCharactersMax)}…` : method);

type Outcome =
  | { readonly kind: 'answered'; readonly response: HttpResponse }
  | ({ readonly kind: 'refused' } & Refused)
  /** The client went away. */
  | { readonly kind: 'gone' };

const stopping: Outcome = { kind: 'refused', status: 503, reason: 'send the request to another' };

const full: Outcome = { kind: 'refused', status: 503, reason: 'clients do not read their answers', isFull: true };

interface Serving {
  readonly options: ListenOptions;
  readonly running: RunningRequests;
  readonly unsent: UnsentAnswers;
}

const answer = async (request: FastifyRequest, reply: FastifyReply, given: Serving): Promise<FastifyReply> => {
  const { options, running, unsent } = given;
  const own = running.add(reply.raw);
  const outcome = await Promise.race([serve(request, given, own), own.late.then(() => stopping)]);
  // That the work was cancelled is no answer to a client that is still there.
  const isCancelled = outcome.kind === 'answered' && outcome.response.status === 499 && running.isStopping;
  const last = isCancelled ? stopping : outcome;
  if (last.kind === 'answered') return send(running.isStopping ? reply.header('connection', 'close') : reply, last.response, unsent);
  reply.hijack();
  if (last.kind === 'refused') await refuse(request.raw, reply.raw, options, last);
  return reply;
};

const serve = async (request: FastifyRequest, { options, unsent }: Serving, { signal }: RunningRequest): Promise<Outcome> => {
  if (request.raw.httpVersion === '1.1' && request.headers.host === undefined)
    return { kind: 'refused', status: 400, reason: 'an HTTP/1.1 request needs a host header' };
  const isFull = () => unsent.isFull && !options.isAlwaysServed(pathOf(urlOf(request.raw)));
  if (isFull()) return full;
  const read = await readRequestBody(request.raw, options);
  if (read.kind !== 'whole') return read;
  if (isFull()) return full;
  return { kind: 'answered', response: await options.handler(toHttpRequest(request, read.body, signal)) };
};

/** Answers whole, lets the client read it while it still sends, and closes. */
const refuse = async (request: IncomingMessage, response: ServerResponse, options: ListenOptions, refused: Refused): Promise<void> => {
  const { status, headers, body } = options.onRefused({ ...refused, path: pathOf(urlOf(request)), method: request.method ?? '' });
  const text = typeof body === 'string' ? body : '';
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' });
  if (request.method !== 'HEAD') response.write(text);
  // Who was given up for sending nothing is not waited for again.
  if (status !== 408) await discardRequest(request, { bytesMax: options.discardedBytesMax, timeMs: timeouts.discardMs });
  response.end();
};

const urlOf = (request: IncomingMessage & { readonly originalUrl?: string }): string => request.originalUrl ?? request.url ?? '/';

/** The path of `/path?query` and of the absolute form (RFC 9112 §3.2.2). */
const pathOf = (url: string): string => (url.split('?', 1)[0] as string).replace(/^https?:\/\/[^/]*/i, '') || '/';

const toHttpRequest = (request: FastifyRequest, body: Buffer, signal: AbortSignal): HttpRequest => {
  const url = urlOf(request.raw);
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  return {
    method: request.method,
    path: pathOf(url),
    query: new Map(new URLSearchParams(query)),
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
    ),
    body,
    signal,
  };
};

const send = async (reply: FastifyReply, response: HttpResponse, unsent: UnsentAnswers): Promise<FastifyReply> => {
  const { status, headers, body } = response;
  reply.code(status).headers(headers);
  const { hold } = unsent.follow(reply.raw);
  if (typeof body === 'string' || body instanceof Uint8Array) {
    hold(Buffer.byteLength(body));
    return reply.send(typeof body === 'string' ? body : Buffer.from(body));
  }
  reply.hijack();
  reply.raw.writeHead(status, reply.getHeaders() as OutgoingHttpHeaders);
  await pump(body, reply.raw, hold);
  return reply;
};

/** Writes under back-pressure; a source that throws cuts the connection, so that half an answer never looks whole. */
const pump = async (source: AsyncIterable<Uint8Array>, response: ServerResponse, hold: (bytes: number) => () => void): Promise<void> => {
  try {
    for await (const chunk of source) {
      if (response.destroyed) return;
      if (!response.write(chunk, hold(chunk.length))) await drained(response);
    }
    response.end();
  } catch (error) {
    response.destroy(error as Error);
  }
};

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });

const rawAnswer = ({ status, headers, body }: HttpResponse): string => {
  const text = typeof body === 'string' ? body : '';
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(text)), connection: 'close' });
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`;
};
