import { ZodError } from 'zod';
import { type JsonValue, type OstrakaError, type ShardId, toOstrakaError, utf8 } from '../base/index.js';
import type { CallHandler, Clock, IncomingCall, Logger } from '../platform/index.js';
import { rpcFrame } from '../protocol/index.js';
import { deadlineSignal } from './deadlineSignal.js';
import { rpcError } from './errors.js';
import type { RpcMetrics } from './metrics.js';
import type { RpcOptions } from './options.js';
import type { TimestampExchange } from './TimestampExchange.js';

/** One received call. `body` is what the method's own schema must still check. */
export interface RpcRequest {
  readonly peerShardId: ShardId;
  readonly body: JsonValue;
  /** Aborts on cancellation, loss of the caller, or the caller's deadline. */
  readonly signal: AbortSignal;
}

/** A method of the RPC table: yields JSON values or bytes, one for a unary call. */
export type RpcMethod = (request: RpcRequest) => AsyncIterable<JsonValue | Uint8Array>;

/** Answers calls of other shards, and of this one, by a table of methods. Every error leaves as a typed frame. */
export class RpcServer {
  readonly #methods = new Map<string, RpcMethod>();
  readonly #timestamps: TimestampExchange;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: RpcMetrics;
  readonly #options: RpcOptions;

  constructor(parts: {
    readonly timestamps: TimestampExchange;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: RpcMetrics;
    readonly options: RpcOptions;
  }) {
    this.#timestamps = parts.timestamps;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#metrics = parts.metrics;
    this.#options = parts.options;
  }

  /** Registers the whole table once, before listening. */
  register(table: { readonly [method: string]: RpcMethod }): void {
    for (const [name, method] of Object.entries(table)) this.#methods.set(name, method);
  }

  readonly handle: CallHandler = (call) => this.#answer(call);

  async *#answer(call: IncomingCall): AsyncGenerator<Uint8Array, void, void> {
    const method = this.#methods.get(call.method);
    const deadline = deadlineSignal({
      clock: this.#clock,
      deadlineMs: Number(call.headers['x-deadline-ms'] ?? 30_000),
      signal: call.signal,
    });
    try {
      this.#timestamps.observe(Number(call.headers['x-timestamp'] ?? 0));
      if (!method) throw rpcError('METHOD_UNKNOWN', `no method ${call.method}`);
      this.#metrics.receivedBytes.add(call.body.length, { method: call.method });
      const body = parseBody(call);
      for await (const value of method({ peerShardId: call.peerShardId, body, signal: deadline.signal })) {
        yield this.#frameOf(call, value);
      }
      yield rpcFrame.encode({ kind: 'end', timestamp: this.#timestamps.last() });
    } catch (thrown) {
      const error = thrown instanceof ZodError ? badBody(call, thrown) : toOstrakaError(thrown);
      this.#report(call, error);
      yield rpcFrame.encode({ kind: 'error', error: error.toJson(), timestamp: this.#timestamps.last() });
    } finally {
      deadline.cancel();
    }
  }

  /** The receiver of a frame that is too large could only end the connection: the caller gets to know why instead. */
  #frameOf(call: IncomingCall, value: JsonValue | Uint8Array): Uint8Array {
    const frame = rpcFrame.encode(value instanceof Uint8Array ? { kind: 'bytes', bytes: value } : { kind: 'json', value });
    if (frame.length <= this.#options.messageBytesMax) return frame;
    throw rpcError(
      'MESSAGE_TOO_LARGE',
      `the answer to ${call.method} has ${frame.length} bytes, the limit is ${this.#options.messageBytesMax}`,
    );
  }

  #report(call: IncomingCall, error: OstrakaError): void {
    if (error.code !== 'INTERNAL') return;
    const cause = error.cause instanceof Error ? error.cause : error;
    this.#logger.error('rpc.failed', { method: call.method, peer: call.peerShardId, error: error.message, stack: cause.stack });
  }
}

const parseBody = (call: IncomingCall): JsonValue => {
  try {
    return JSON.parse(utf8.decode(call.body)) as JsonValue;
  } catch (error) {
    throw badBody(call, error);
  }
};

const badBody = (call: IncomingCall, cause: unknown): OstrakaError =>
  rpcError('PROTOCOL_VIOLATION', `the body of ${call.method} from ${call.peerShardId} does not have the form of the method`, { cause });
