import { AsyncQueue, onAbort } from '../../src/base/index.js';
import { type HttpHandler, type HttpListener, type HttpResponse, platformError } from '../../src/platform/index.js';
import type { SimProcess } from '../world/SimProcess.js';
import type { SimRandom } from '../world/SimRandom.js';
import type { SimWorld } from '../world/SimWorld.js';

interface Server {
  readonly process: SimProcess;
  readonly handler: HttpHandler;
}

export interface SimHttpRequest {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
  /** Aborting is going away: the server's signal aborts a trip later. */
  readonly signal: AbortSignal;
}

export interface SimHttpAnswer {
  readonly status: number;
  /** Pieces of the body as they come; ends with TRANSPORT_LOST when the connection was cut. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** What a server has sent ahead of a reader; at `aheadMax` it waits, as for a full socket. */
interface Flow {
  ahead: number;
  wake: () => void;
}

interface Exchange {
  readonly server: Server;
  readonly lose: () => void;
}

const aheadMax = 3;
const tripMs = { min: 0.1, max: 0.6 } as const;
const utf8 = new TextEncoder();
/** Made once: every exchange ends with it, and an error costs a stack. */
const connectionOver = new Error('the connection is over');

/** HTTP between the simulator's clients and the gateways of the shards. It has no faults of its own but the death of a shard. */
export class SimHttp {
  readonly #world: SimWorld;
  readonly #random: SimRandom;
  readonly #servers = new Map<number, Server>();
  readonly #exchanges = new Set<Exchange>();

  constructor(parts: { readonly world: SimWorld; readonly random: SimRandom }) {
    this.#world = parts.world;
    this.#random = parts.random;
  }

  listenerOf(process: SimProcess): HttpListener {
    return {
      listen: async ({ port, handler }) => {
        this.#servers.set(port, { process, handler });
        return { port };
      },
      close: async () => this.processDied(process),
    };
  }

  /** Its ports are closed; clients that wait for it learn that their connection is lost. */
  processDied(process: SimProcess): void {
    for (const [port, server] of this.#servers) if (server.process === process) this.#servers.delete(port);
    for (const exchange of this.#exchanges) if (exchange.server.process === process) exchange.lose();
  }

  /** Errors: TRANSPORT_REFUSED (nobody listens), TRANSPORT_LOST (it may have taken effect). */
  request(request: SimHttpRequest): Promise<SimHttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#later(undefined, () => {
        const server = this.#servers.get(request.port);
        if (server === undefined) reject(platformError('TRANSPORT_REFUSED', `nobody listens on port ${request.port}`));
        else this.#exchange(server, request, { resolve, reject });
      });
    });
  }

  #exchange(
    server: Server,
    request: SimHttpRequest,
    outcome: { readonly resolve: (answer: SimHttpAnswer) => void; readonly reject: (error: unknown) => void },
  ): void {
    const body = new AsyncQueue<Uint8Array>({ itemsMax: Number.MAX_SAFE_INTEGER, onReturn: () => end() });
    const flow: Flow = { ahead: 0, wake: () => undefined };
    const gone = new AbortController();
    const exchange: Exchange = {
      server,
      lose: () => {
        end();
        const lost = platformError('TRANSPORT_LOST', 'the shard is gone');
        this.#later(undefined, () => {
          body.fail(lost);
          outcome.reject(lost);
        });
      },
    };
    let forget = (): void => undefined;
    const end = (): void => {
      this.#exchanges.delete(exchange);
      forget();
      this.#later(server.process, () => {
        gone.abort(connectionOver);
        flow.wake();
      });
    };
    this.#exchanges.add(exchange);
    forget = onAbort(request.signal, () => {
      end();
      const left = platformError('TRANSPORT_LOST', 'the client went away');
      body.fail(left);
      outcome.reject(left);
    });
    if (request.signal.aborted) return;
    this.#world.schedule({
      delayMs: 0,
      owner: server.process,
      run: () => {
        const { method, path, query } = request;
        const headers = { 'content-type': 'application/json' };
        server
          .handler({ method, path, query, headers, body: request.body, signal: gone.signal })
          .then((response) =>
            this.#answer(response, body, { flow, server, isWanted: () => this.#exchanges.has(exchange), resolve: outcome.resolve, end }),
          )
          .catch((error: unknown) => this.#world.violate('http', `a handler threw: ${String(error)}`));
      },
    });
  }

  async #answer(
    response: HttpResponse,
    body: AsyncQueue<Uint8Array>,
    state: {
      readonly flow: Flow;
      readonly server: Server;
      readonly isWanted: () => boolean;
      readonly resolve: (answer: SimHttpAnswer) => void;
      readonly end: () => void;
    },
  ): Promise<void> {
    if (!state.isWanted()) {
      if (isStream(response.body)) await response.body[Symbol.asyncIterator]().return?.();
      return;
    }
    let arrivesAtMs = this.#world.nowMs;
    const send = (run: () => void): void => {
      const { nowMs } = this.#world;
      arrivesAtMs = Math.max(arrivesAtMs, nowMs + this.#random.between(tripMs.min, tripMs.max));
      this.#world.schedule({ delayMs: arrivesAtMs - nowMs, owner: undefined, run });
    };
    const { flow, server } = state;
    const taken = (): void => {
      flow.ahead--;
      this.#later(server.process, flow.wake);
    };
    send(() => state.resolve({ status: response.status, body: counted(body, taken) }));
    if (!isStream(response.body)) {
      const bytes = typeof response.body === 'string' ? utf8.encode(response.body) : response.body;
      send(() => body.push(bytes));
    } else {
      for await (const piece of response.body) {
        if (!state.isWanted()) return;
        flow.ahead++;
        send(() => body.push(piece));
        if (flow.ahead >= aheadMax) await this.#room(flow);
      }
    }
    send(() => {
      body.close();
      if (state.isWanted()) state.end();
    });
  }

  /** Waits until the reader has taken a piece, or the exchange is over. */
  #room(flow: Flow): Promise<void> {
    this.#world.reach('server waits for a slow reader');
    return new Promise((resolve) => {
      flow.wake = resolve;
    });
  }

  #later(owner: SimProcess | undefined, run: () => void): void {
    this.#world.schedule({ delayMs: this.#random.between(tripMs.min, tripMs.max), owner, run });
  }
}

async function* counted(pieces: AsyncIterable<Uint8Array>, taken: () => void): AsyncGenerator<Uint8Array, void, void> {
  for await (const piece of pieces) {
    taken();
    yield piece;
  }
}

const isStream = (body: HttpResponse['body']): body is AsyncIterable<Uint8Array> =>
  typeof body !== 'string' && !(body instanceof Uint8Array);
