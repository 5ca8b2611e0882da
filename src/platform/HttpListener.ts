export interface HttpRequest {
  readonly method: string;
  /** Path without the query, still percent-encoded. */
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  /** A stream is sent as it comes, under back-pressure; if its iteration throws, the connection is cut. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** Must not throw: errors are answers. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpResponse>;

/** A request that the listener itself refuses. `path` is empty where none could be read. */
export interface HttpRefusal {
  readonly status: number;
  readonly reason: string;
  readonly path: string;
  /** Printable and bounded; empty where none could be read. */
  readonly method: string;
  /** Of a 503: as many bytes as there may be wait for clients to read them. Absent = the listener stops. */
  readonly isFull?: boolean;
}

export interface HttpLimits {
  readonly bodyBytesMax: number;
  /** A body of which nothing arrives for so long is refused (408), ms. */
  readonly bodyIdleMs: number;
  /** After a refusal so many bytes are read and forgotten before the connection is closed, so that the client can read the answer. */
  readonly discardedBytesMax: number;
  /** A connection that takes nothing of its answer for so long is cut, within twice the time, ms. */
  readonly answerIdleMs: number;
  /** Of answers that wait to be sent, over all connections; beyond it further requests are refused (503) before they run. */
  readonly answersUnsentBytesMax: number;
}

/**
 * Carries the gateway: a real HTTP/1.1 server, or the simulator's client. Every method and every path comes to the handler. Bodies over
 * `bodyBytesMax` are refused before they are read whole (413), those that do not arrive (408), malformed framing (400) and heads that are
 * too long (431) all through `onRefused`, so that every answer has the gateway's shape; the connection is closed after it.
 */
export interface HttpListener {
  listen(
    options: {
      readonly host: string;
      readonly port: number;
      readonly handler: HttpHandler;
      readonly onRefused: (refusal: HttpRefusal) => HttpResponse;
      /** Paths with small answers that are served even where too many bytes wait for clients: whether the server is alive, for one. */
      readonly isAlwaysServed: (path: string) => boolean;
    } & HttpLimits,
  ): Promise<{ readonly port: number }>;
  /**
   * Takes no more requests, aborts the signals of those that run, and answers each: as its handler does, or, where that says 499 or says
   * nothing, by `onRefused` with 503. Resolves within seconds; what could not be answered by then is cut off.
   */
  close(): Promise<void>;
}
