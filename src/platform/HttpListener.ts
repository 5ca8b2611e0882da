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

/**
 * Carries the gateway: a real HTTP/1.1 server, or the simulator's client. Bodies over `bodyBytesMax` are refused before they are
 * read whole (413), malformed framing with 400, both through `onRefused` so that the answer has the gateway's shape.
 */
export interface HttpListener {
  listen(options: {
    readonly host: string;
    readonly port: number;
    readonly bodyBytesMax: number;
    readonly handler: HttpHandler;
    readonly onRefused: (refusal: { readonly status: number; readonly reason: string }) => HttpResponse;
  }): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}
