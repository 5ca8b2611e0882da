import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { baseError } from '../../base/index.js';
import { type HttpHandler, type HttpListener, type HttpRequest, type HttpResponse, platformError } from '../index.js';

type ListenOptions = Parameters<HttpListener['listen']>[0];

const timeouts = {
  /** Reading the head and the whole of a request: slow senders are cut off. */
  requestMs: 60_000,
  keepAliveMs: 72_000,
  connectionsMax: 4_096,
  headerBytesMax: 16_384,
} as const;

/** HttpListener on fastify: its parser and limits, none of its routing. Every answer comes from the handler or from `onRefused`. */
export class FastifyHttpListener implements HttpListener {
  #server: FastifyInstance | undefined;

  async listen(options: ListenOptions): Promise<{ readonly port: number }> {
    const server = fastify({
      bodyLimit: options.bodyBytesMax,
      logger: false,
      exposeHeadRoutes: false,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.keepAliveMs,
      forceCloseConnections: true,
      http: { maxHeaderSize: timeouts.headerBytesMax },
      routerOptions: { maxParamLength: 8_192 },
      clientErrorHandler: (error, socket) => {
        const refusal = options.onRefused({ status: error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, reason: error.message });
        if (socket.writable) socket.end(rawAnswer(refusal));
        else socket.destroy();
      },
    });
    server.server.maxConnections = timeouts.connectionsMax;
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    server.setErrorHandler(async (error: { statusCode?: number; message: string }, _request, reply) =>
      send(reply, options.onRefused({ status: error.statusCode ?? 500, reason: error.message })),
    );
    server.all('*', (request, reply) => answer(request, reply, options.handler));
    this.#server = server;
    try {
      await server.listen({ host: options.host, port: options.port });
    } catch (error) {
      if ((error as { code?: string }).code !== 'EADDRINUSE') throw error;
      throw platformError('PORT_IN_USE', `port ${options.port} on ${options.host} is taken`, { cause: error });
    }
    return { port: (server.server.address() as AddressInfo).port };
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}

const answer = async (request: FastifyRequest, reply: FastifyReply, handler: HttpHandler): Promise<FastifyReply> => {
  const gone = new AbortController();
  // `close` without a finished answer = the client went away.
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(baseError('CANCELLED', 'the client closed the connection'));
  });
  return send(reply, await handler(toHttpRequest(request, gone.signal)));
};

const toHttpRequest = (request: FastifyRequest, signal: AbortSignal): HttpRequest => {
  const url = new URL(request.raw.url ?? '/', 'http://shard');
  return {
    method: request.method,
    path: (request.raw.url ?? '/').split('?', 1)[0] as string,
    query: new Map(url.searchParams),
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
    ),
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    signal,
  };
};

const send = async (reply: FastifyReply, response: HttpResponse): Promise<FastifyReply> => {
  reply.code(response.status).headers(response.headers);
  if (typeof response.body === 'string' || response.body instanceof Uint8Array) {
    return reply.send(typeof response.body === 'string' ? response.body : Buffer.from(response.body));
  }
  const stream = new PassThrough();
  void pump(response.body, stream);
  return reply.send(stream);
};

/** Writes under back-pressure; a source that throws cuts the connection, so that half an answer never looks whole. */
const pump = async (source: AsyncIterable<Uint8Array>, stream: PassThrough): Promise<void> => {
  try {
    for await (const chunk of source) {
      if (stream.destroyed) return;
      if (!stream.write(chunk)) await drained(stream);
    }
    stream.end();
  } catch (error) {
    stream.destroy(error as Error);
  }
};

const drained = (stream: PassThrough): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.once('drain', done);
    stream.once('close', done);
  });

const rawAnswer = ({ status, headers, body }: HttpResponse): string => {
  const text = typeof body === 'string' ? body : '';
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(text)), connection: 'close' });
  return `HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`;
};
