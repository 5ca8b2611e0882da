import { type OstrakaError, toOstrakaError } from '../base/index.js';
import type { Clock, Histogram, HttpHandler, HttpListener, HttpRequest, HttpResponse, Logger, Metrics } from '../platform/index.js';
import { deadlineSignal } from '../rpc/index.js';
import { gatewayError } from './errors.js';
import { isAuthorized } from './isAuthorized.js';
import { isForeignOrigin } from './isForeignOrigin.js';
import type { GatewayOptions } from './options.js';
import { parseJsonBody } from './parseJsonBody.js';
import type { Route } from './Route.js';
import { RouteTable } from './RouteTable.js';
import { responses } from './responses.js';

/** Turns HTTP requests into answers by the route table: authentication, database, body, deadline, error shape. Never throws. */
export class Gateway {
  readonly #listener: HttpListener;
  readonly #table: RouteTable;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: GatewayOptions;
  readonly #apiKey: string | undefined;
  readonly #duration: Histogram;

  constructor(parts: {
    readonly listener: HttpListener;
    readonly routes: readonly Route[];
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly options: GatewayOptions;
    readonly apiKey: string | undefined;
  }) {
    this.#listener = parts.listener;
    this.#table = new RouteTable(parts.routes);
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#options = parts.options;
    this.#apiKey = parts.apiKey;
    this.#duration = parts.metrics.histogram({
      name: 'http_request_seconds',
      help: 'time to the head of the answer by route and status',
      labels: ['route', 'status'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    });
  }

  async start(address: { readonly host: string; readonly port: number }): Promise<{ readonly port: number }> {
    return this.#listener.listen({
      ...address,
      bodyBytesMax: this.#options.bodyBytesMax,
      handler: this.handle,
      onRefused: ({ status, reason }) => responses.arangoError(refusal(status, reason)),
    });
  }

  async stop(): Promise<void> {
    await this.#listener.close();
  }

  readonly handle: HttpHandler = async (request) => {
    const startedMs = this.#clock.monotonicMs();
    const style = request.path.includes('/v1/') ? 'openai' : 'arango';
    let pattern = 'none';
    let response: HttpResponse;
    try {
      const { database, path } = splitDatabase(request.path);
      const { route, parameters } = this.#table.find(request.method, path);
      pattern = route.pattern;
      if (!isAuthorized(request, this.#apiKey, pattern)) throw gatewayError('UNAUTHORIZED', 'not authorized to execute this request');
      if (this.#apiKey === undefined && isForeignOrigin(request))
        throw gatewayError('ORIGIN_REFUSED', 'refused: the request comes from a page of another origin, or by a host name');
      response = await this.#run(route, request, { database, parameters });
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      this.#report(error, pattern);
      response = style === 'openai' ? responses.openAiError(error) : responses.arangoError(error);
    }
    this.#duration.observe((this.#clock.monotonicMs() - startedMs) / 1000, { route: pattern, status: String(response.status) });
    const body = request.method === 'HEAD' ? '' : response.body;
    return { ...response, headers: { ...response.headers, 'x-arango-queue-time-seconds': '0' }, body };
  };

  async #run(
    route: Route,
    request: HttpRequest,
    found: { readonly database: string; readonly parameters: { readonly [name: string]: string } },
  ): Promise<HttpResponse> {
    const deadline = deadlineSignal({ clock: this.#clock, deadlineMs: this.#options.requestTimeoutMs, signal: request.signal });
    const context = { request, ...found, signal: deadline.signal, json: () => parseJsonBody(request) };
    try {
      const response = await route.handle(context);
      if (!isStream(response.body)) deadline.cancel();
      return isStream(response.body) ? { ...response, body: endingWith(response.body, deadline.cancel) } : response;
    } catch (error) {
      deadline.cancel();
      throw error;
    }
  }

  #report(error: OstrakaError, route: string): void {
    if (error.httpStatus < 500 || error.code !== 'INTERNAL') return;
    const cause = error.cause instanceof Error ? error.cause : error;
    this.#logger.error('http.failed', { route, error: error.message, stack: cause.stack });
  }
}

const splitDatabase = (path: string): { readonly database: string; readonly path: string } => {
  const found = /^\/_db\/([^/]+)(\/.*)$/.exec(path);
  if (!found) return { database: '_system', path };
  try {
    return { database: decodeURIComponent(found[1] as string), path: found[2] as string };
  } catch {
    throw gatewayError('REQUEST_MALFORMED', 'the database name in the path has an invalid percent-encoding');
  }
};

const refusal = (status: number, reason: string): OstrakaError => {
  if (status === 413) return gatewayError('BODY_TOO_LARGE', `the body is over the limit: ${reason}`);
  return gatewayError('REQUEST_MALFORMED', `the request was refused: ${reason}`);
};

const isStream = (body: HttpResponse['body']): body is AsyncIterable<Uint8Array> =>
  typeof body !== 'string' && !(body instanceof Uint8Array);

async function* endingWith(body: AsyncIterable<Uint8Array>, end: () => void): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* body;
  } finally {
    end();
  }
}
