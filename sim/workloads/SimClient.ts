import { type JsonValue, OstrakaError, utf8 } from '../../src/base/index.js';
import type { SimCluster } from '../cluster/SimCluster.js';
import type { SimShard } from '../cluster/SimShard.js';
import type { SimHttpAnswer } from '../ports/SimHttp.js';
import type { SimRandom } from '../world/SimRandom.js';
import type { ClientAnswer } from './ClientAnswer.js';

export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: { readonly [name: string]: string };
  readonly body?: JsonValue;
}

/** Errors that no request of a workload may end with: they say that the product met what it did not expect. */
const forbiddenCodes = new Set(['INTERNAL', 'PROTOCOL_VIOLATION', 'METHOD_UNKNOWN', 'NOT_SUPPORTED', 'PARAMETER_BAD', 'AQL_PARSE']);

const patienceMs = 8_000;

/** A program that uses the cluster over HTTP and goes away after a while when it has no answer. */
export class SimClient {
  readonly name: string;
  readonly random: SimRandom;
  readonly cluster: SimCluster;

  constructor(parts: { readonly name: string; readonly random: SimRandom; readonly cluster: SimCluster }) {
    this.name = parts.name;
    this.random = parts.random;
    this.cluster = parts.cluster;
  }

  get nowMs(): number {
    return this.cluster.world.nowMs;
  }

  anyShard(): SimShard {
    return this.random.pick(this.cluster.shards);
  }

  sleep(delayMs: number): Promise<void> {
    return this.cluster.clock.sleep(delayMs);
  }

  /** The whole answer as JSON. */
  async ask(shard: SimShard, request: ClientRequest): Promise<ClientAnswer> {
    const left = new AbortController();
    const timer = this.cluster.clock.setTimer(patienceMs, () => left.abort());
    this.#note(`${request.method} ${request.path} at ${shard.shardId}`);
    try {
      const answer = await this.open(shard, request, left.signal);
      const text = await textOf(answer.body);
      return this.#judge(request, answer.status, JSON.parse(text) as JsonValue);
    } catch (error) {
      if (!(error instanceof OstrakaError)) throw error;
      this.#note(`lost ${error.code}`);
      return { kind: error.code === 'TRANSPORT_REFUSED' ? 'refused' : 'lost' };
    } finally {
      timer.cancel();
    }
  }

  /** The head of an answer, whose body comes in pieces. Errors: TRANSPORT_REFUSED, TRANSPORT_LOST. */
  open(shard: SimShard, request: ClientRequest, signal: AbortSignal): Promise<SimHttpAnswer> {
    return this.cluster.http.request({
      port: shard.httpPort,
      method: request.method,
      path: request.path,
      query: new Map(Object.entries(request.query ?? {})),
      body: request.body === undefined ? new Uint8Array(0) : utf8.encode(JSON.stringify(request.body)),
      signal,
    });
  }

  query(shard: SimShard, query: string, bindVars: { readonly [name: string]: JsonValue }): Promise<ClientAnswer> {
    return this.ask(shard, { method: 'POST', path: '/_api/cursor', body: { query, bindVars } });
  }

  violate(checker: string, message: string): void {
    this.cluster.world.violate(checker, `${this.name}: ${message}`);
  }

  #judge(request: ClientRequest, status: number, body: JsonValue): ClientAnswer {
    const code = status < 300 ? undefined : codeOf(body);
    if (code !== undefined) this.cluster.world.reach(`answer ${code}`);
    this.#note(`answer ${status} ${code ?? ''} ${JSON.stringify(body)}`);
    if (code !== undefined && forbiddenCodes.has(code)) this.violate('answers', `${request.path} gave ${code}: ${JSON.stringify(body)}`);
    return { kind: 'answer', status, body, code };
  }

  #note(what: string): void {
    this.cluster.world.note(`client ${this.name} ${what}`);
  }
}

const codeOf = (body: JsonValue): string => {
  const { ostrakaCode, error } = body as { readonly ostrakaCode?: string; readonly error?: { readonly code?: string } };
  return ostrakaCode ?? error?.code?.toUpperCase() ?? 'UNKNOWN';
};

const textOf = async (body: AsyncIterable<Uint8Array>): Promise<string> => {
  let text = '';
  for await (const piece of body) text += utf8.decode(piece);
  return text;
};
