import { type OstrakaError, toOstrakaError } from '../base/index.js';
import type {
  Clock,
  Histogram,
  HttpHandler,
  HttpListener,
  HttpRefusal,
  HttpRequest,
  HttpResponse,
  Logger,
  Metrics,
  Random,
} from '../platform/index.js';
import { deadlineSignal } from '../rpc/index.js';
import { checkSupported } from './checkSupported.js';
import { gatewayError } from './errors.js';
import { isAuthorized } from './isAuthorized.js';
import { isForeignOrigin } from './isForeignOrigin.js';
import type { GatewayOptions } from './options.js';
import { parseJsonBody } from './parseJsonBody.js';
import type { Route } from './Route.js';
import { RouteTable } from './RouteTable.js';
import { requestIdOf } from './requestIdOf.js';
import { responses } from './responses.js';

/** Turns HTTP requests into answers by the route table: authentication, database, body, deadline, error shape. Never throws. */
export class Gateway {
  readonly #listener: HttpListener;
  readonly #table: RouteTable;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #options: GatewayOptions;
  readonly #apiKey: string | undefined;
  readonly #checkDatabase: (name: string) => Promise<unknown>;
  readonly #duration: Histogram;

  constructor(parts: {
    readonly listener: HttpListener;
    readonly routes: readonly Route[];
    readonly clock: Clock;
    /** For ids of requests that bring none. */
    readonly random: Random;
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly options: GatewayOptions;
    readonly apiKey: string | undefined;
    /** Rejects with DATABASE_NOT_FOUND. */
    readonly checkDatabase: (name: string) => Promise<unknown>;
  }) {
    this.#listener = parts.listener;
    this.#table = new RouteTable(parts.routes);
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#logger = parts.logger;
    this.#options = parts.options;
    this.#apiKey = parts.apiKey;
    this.#checkDatabase = parts.checkDatabase;
    this.#duration = parts.metrics.histogram({
      name: 'http_request_seconds',
      help: 'time to the head of the answer by route and status',
      labels: ['route', 'status'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    });
  }

  async start(address: { readonly host: string; readonly port: number }): Promise<{ readonly port: number }> {
    const { bodyBytesMax, bodyIdleMs, discardedBytesMax, answerIdleMs, answersUnsentBytesMax } = this.#options;
    const limits = { bodyBytesMax, bodyIdleMs, discardedBytesMax, answerIdleMs, answersUnsentBytesMax };
    return this.#listener.listen({ ...address, ...limits, handler: this.handle, onRefused: this.refuse, isAlwaysServed });
  }

  async stop(): Promise<void> {
    await this.#listener.close();
  }

  readonly handle: HttpHandler = async (request) => {
    const startedMs = this.#clock.monotonicMs();
    const requestId = requestIdOf(request.headers, this.#random);
    let pattern = 'none';
    let response: HttpResponse;
    try {
      const { database, path } = splitDatabase(request.path);
      const found = this.#find(request.method, path);
      if (found.kind === 'found') pattern = found.route.pattern;
      this.#checkAccess(request, pattern);
      if (database !== '_system' && (found.kind === 'error' || usesDatabase(found.route))) await this.#checkDatabase(database);
      if (found.kind === 'error') throw found.error;
      checkSupported(request.headers, headersRefused);
      response = await this.#run(found.route, request, { database, parameters: found.parameters, requestId });
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      this.#report(error, { route: pattern, request: requestId });
      response = this.#errorAnswer(request.path, error, requestId);
    }
    this.#duration.observe((this.#clock.monotonicMs() - startedMs) / 1000, { route: pattern, status: String(response.status) });
    const body = request.method === 'HEAD' ? '' : response.body;
    return { ...response, headers: { ...response.headers, 'x-arango-queue-time-seconds': '0', 'x-request-id': requestId }, body };
  };

  /** The answer to what the listener refuses before it is a request. */
  readonly refuse = (refusal: HttpRefusal): HttpResponse => {
    const requestId = requestIdOf({}, this.#random);
    const response = this.#errorAnswer(refusal.path, this.#errorOf(refusal), requestId);
    return { ...response, headers: { ...response.headers, 'x-request-id': requestId } };
  };

  #errorAnswer(path: string, error: OstrakaError, requestId: string): HttpResponse {
    const style = this.#styleOf(path);
    if (style === 'arango') return responses.arangoError(error);
    return style === 'anthropic' ? responses.anthropicError(error, requestId) : responses.openAiError(error, requestId);
  }

  /** Of the routes at the path, and where there are none of those that begin so. */
  #styleOf(path: string): Route['style'] {
    const own = /^(?:\/_db\/[^/]*)?(\/.*)$/.exec(path)?.[1] ?? path;
    if (/^\/v1\/messages(\/|$)/.test(own)) return 'anthropic';
    return this.#table.styleOf(own) ?? (/^\/v1(\/|$)/.test(own) ? 'openai' : 'arango');
  }

  #errorOf({ status, reason, path, method, isFull }: HttpRefusal): OstrakaError {
    if (isFull) return gatewayError('ANSWERS_UNSENT', `the request was not run: ${reason}`);
    if (status !== 405) return refusedError(status, reason);
    try {
      const found = this.#find(method || '(unknown)', splitDatabase(path).path);
      return found.kind === 'error' ? found.error : refusedError(status, reason);
    } catch (thrown) {
      return toOstrakaError(thrown);
    }
  }

  /** Who may not come in does not learn which paths there are: the error of the path waits. */
  #find(method: string, path: string): ({ readonly kind: 'found' } & ReturnType<RouteTable['find']>) | FoundError {
    try {
      return { kind: 'found', ...this.#table.find(method, path) };
    } catch (thrown) {
      return { kind: 'error', error: toOstrakaError(thrown) };
    }
  }

  #checkAccess(request: HttpRequest, pattern: string): void {
    if (!isAuthorized(request, this.#apiKey, pattern)) throw gatewayError('UNAUTHORIZED', 'not authorized to execute this request');
    if (this.#apiKey === undefined && isForeignOrigin(request))
      throw gatewayError('ORIGIN_REFUSED', 'refused: the request comes from a page of another origin, or by a host name');
  }

  async #run(
    route: Route,
    request: HttpRequest,
    found: { readonly database: string; readonly parameters: { readonly [name: string]: string }; readonly requestId: string },
  ): Promise<HttpResponse> {
    const deadline = deadlineSignal({ clock: this.#clock, deadlineMs: this.#options.requestTimeoutMs, signal: request.signal });
    const context = { request, ...found, signal: deadline.signal, json: () => parseJsonBody(request) };
    try {
      const response = await route.handle(context);
      const { body } = response;
      if (isStream(body) && request.method !== 'HEAD') return { ...response, body: endingWith(body, deadline.cancel) };
      if (isStream(body)) await body[Symbol.asyncIterator]().return?.(); // nobody will read it
      deadline.cancel();
      return response;
    } catch (error) {
      deadline.cancel();
      throw error;
    }
  }

  #report(error: OstrakaError, of: { readonly route: string; readonly request: string }): void {
    if (error.httpStatus < 500 || error.code !== 'INTERNAL') return;
    const cause = error.cause instanceof Error ? error.cause : error;
    this.#logger.error('http.failed', { ...of, error: error.message, stack: cause.stack });
  }
}

// A request that believes itself in a transaction, or that its answer comes later, must not run as if it had not said so.
const headersRefused = ['x-arango-trx-id', 'x-arango-async'];

// Models are the cluster's, whatever database a client names.
const usesDatabase = ({ style, usesDatabase: uses }: Route): boolean => uses ?? style === 'arango';

interface FoundError {
  readonly kind: 'error';
  readonly error: OstrakaError;
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

// A shard that refuses work because of its clients is alive: who watches it must not end it.
const isAlwaysServed = (path: string): boolean => path.startsWith('/health/') || path === '/metrics';

const refusedError = (status: number, reason: string): OstrakaError => {
  if (status === 405) return gatewayError('METHOD_NOT_ALLOWED', `the method is not supported: ${reason}`);
  if (status === 408) return gatewayError('BODY_INCOMPLETE', `the request did not arrive whole: ${reason}`);
  if (status === 413) return gatewayError('BODY_TOO_LARGE', `the body is over the limit: ${reason}`);
  if (status === 417) return gatewayError('EXPECTATION_UNKNOWN', `the request was refused: ${reason}`);
  if (status === 503) return gatewayError('SHARD_STOPPING', `the shard is stopping: ${reason}`);
  if (status === 431) return gatewayError('HEADERS_TOO_LARGE', `path and headers are over the limit: ${reason}`);
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
