import type { JsonValue } from '../base/index.js';
import type { HttpRequest, HttpResponse } from '../platform/index.js';

export interface RouteContext {
  readonly request: HttpRequest;
  /** Database of `/_db/<name>/…`, else `_system`. */
  readonly database: string;
  /** In the answer's `x-request-id`, its errors and log lines. */
  readonly requestId: string;
  /** Decoded parts of the path that the pattern names. */
  readonly parameters: { readonly [name: string]: string };
  /** The parsed body. Errors: BODY_NOT_JSON, CONTENT_TYPE_WRONG, CONTENT_ENCODING_UNKNOWN, NUMBER_OUT_OF_RANGE. */
  json(): JsonValue;
  /** Aborts when the client goes away or the request's time is over. */
  readonly signal: AbortSignal;
}

/** One entry of the route table; GET answers HEAD too. `pattern` like `/_api/document/:collection/:key`. `style` decides the shape of errors. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly pattern: string;
  readonly style: 'arango' | 'openai' | 'anthropic';
  /** False: it neither reads nor changes anything of the database, and answers also while nobody can say whether there is one. */
  readonly usesDatabase?: boolean;
  readonly handle: (context: RouteContext) => Promise<HttpResponse>;
}
