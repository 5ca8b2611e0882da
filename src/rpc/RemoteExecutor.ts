import {
  baseError,
  type JsonValue,
  OstrakaError,
  type OstrakaErrorJson,
  raceAbort,
  type ShardId,
  toOstrakaError,
  utf8,
} from '../base/index.js';
import { type Clock, type Logger, platformError, type Random, type Transport } from '../platform/index.js';
import { rpcFrame } from '../protocol/index.js';
import { type BreakerState, CircuitBreaker } from './CircuitBreaker.js';
import { deadlineSignal } from './deadlineSignal.js';
import { rpcError } from './errors.js';
import type { RpcMetrics } from './metrics.js';
import type { RpcOptions } from './options.js';
import type { Peer, PeerDirectory } from './PeerDirectory.js';
import type { RpcServer } from './RpcServer.js';
import type { TimestampExchange } from './TimestampExchange.js';

export interface RemoteCall {
  readonly shardId: ShardId;
  readonly method: string;
  readonly body: JsonValue;
  readonly signal: AbortSignal;
  /** Time for all tries together, ms; default `requestTimeoutMs`. What is left of it is passed on to the peer. */
  readonly deadlineMs?: number;
  /** True when running it twice does what running it once does (reads, or calls that carry a request id). Only such calls are retried. */
  readonly idempotent: boolean;
  readonly channel?: 'control' | 'bulk';
}

const transportCodes = new Set(['TRANSPORT_REFUSED', 'TRANSPORT_LOST']);

/**
 * Calls other shards (R33): deadlines passed on, up to three retries with jitter for idempotent calls, one circuit breaker a peer.
 * A call to oneself goes through the same server without the network. Errors: the peer's own typed errors unchanged;
 * SHARD_UNAVAILABLE when it could not be reached or was lost, BREAKER_OPEN, DEADLINE_EXCEEDED, CANCELLED; MESSAGE_TOO_LARGE before it is sent.
 */
export class RemoteExecutor {
  readonly selfShardId: ShardId;
  readonly #transport: Transport;
  readonly #server: RpcServer;
  readonly #peers: PeerDirectory;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #timestamps: TimestampExchange;
  readonly #metrics: RpcMetrics;
  readonly #logger: Logger;
  readonly #options: RpcOptions;
  readonly #breakers = new Map<ShardId, { readonly breaker: CircuitBreaker; incarnation: number }>();

  constructor(parts: {
    readonly selfShardId: ShardId;
    readonly transport: Transport;
    readonly server: RpcServer;
    readonly peers: PeerDirectory;
    readonly clock: Clock;
    readonly random: Random;
    readonly timestamps: TimestampExchange;
    readonly metrics: RpcMetrics;
    readonly logger: Logger;
    readonly options: RpcOptions;
  }) {
    this.selfShardId = parts.selfShardId;
    this.#transport = parts.transport;
    this.#server = parts.server;
    this.#peers = parts.peers;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#timestamps = parts.timestamps;
    this.#metrics = parts.metrics;
    this.#logger = parts.logger;
    this.#options = parts.options;
  }

  /** A unary call: exactly one JSON value. */
  async call(call: RemoteCall): Promise<JsonValue> {
    const endsAtMs = this.#clock.monotonicMs() + (call.deadlineMs ?? this.#options.requestTimeoutMs);
    const remainingMs = (): number => endsAtMs - this.#clock.monotonicMs();
    let mayHaveRun = false;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once({ ...call, deadlineMs: remainingMs() });
      } catch (error) {
        const delayMs = this.#random.next() * this.#options.retryDelayMs * 2 ** attempt;
        if (!this.#mayRetry(call, error, attempt) || delayMs >= remainingMs()) throw mayHaveRun ? this.#afterLostTry(call, error) : error;
        mayHaveRun ||= (error as OstrakaError).data['mayHaveRun'] !== false;
        this.#metrics.retries.add(1, { method: call.method });
        await this.#clock.sleep(delayMs, call.signal);
      }
    }
  }

  /** A streamed answer; never retried here, since the caller knows what it has used. Ending the iteration early cancels the call. */
  async *stream(call: RemoteCall): AsyncGenerator<JsonValue | Uint8Array, void, void> {
    const body = this.#encode(call);
    if (call.shardId !== this.selfShardId) this.#peer(call.shardId); // nobody to ask is no evidence for the breaker
    const guard = this.#enter(call.shardId);
    const startedMs = this.#clock.monotonicMs();
    const deadline = deadlineSignal({
      clock: this.#clock,
      deadlineMs: call.deadlineMs ?? this.#options.requestTimeoutMs,
      signal: call.signal,
    });
    let isOver = false;
    let outcome: 'success' | 'failure' | 'neutral' = 'neutral';
    try {
      for await (const value of this.#frames(call, body, deadline.signal)) {
        guard.proven();
        yield value;
      }
      isOver = true;
      outcome = 'success';
    } catch (thrown) {
      isOver = true;
      const error = toOstrakaError(thrown);
      outcome = outcomeOf(error, { gaveUp: call.signal.aborted, timedOut: deadline.signal.aborted });
      throw this.#translate(call, error);
    } finally {
      deadline.cancel();
      if (!isOver) deadline.abort(baseError('CANCELLED', 'the caller needs no more of the answer'));
      guard.end(outcome);
      this.#metrics.calls.add(1, { method: call.method, outcome });
      this.#metrics.duration.observe((this.#clock.monotonicMs() - startedMs) / 1000, { method: call.method });
    }
  }

  breakerOf(shardId: ShardId): { readonly state: BreakerState; readonly admits: boolean } {
    if (shardId === this.selfShardId) return { state: 'closed', admits: true };
    const { state, admits } = this.#breaker(shardId);
    return { state, admits };
  }

  async #once(call: RemoteCall): Promise<JsonValue> {
    // To the end, not to the value: the end carries the peer's clock, and only a whole answer is a success of the transport.
    let answer: { readonly value: JsonValue } | undefined;
    for await (const value of this.stream(call)) {
      if (!(value instanceof Uint8Array)) answer ??= { value };
    }
    if (answer) return answer.value;
    throw rpcError('PROTOCOL_VIOLATION', `${call.method} on ${call.shardId} ended without an answer`);
  }

  async *#frames(call: RemoteCall, body: Uint8Array, signal: AbortSignal): AsyncGenerator<JsonValue | Uint8Array, void, void> {
    const iterator = this.#open(call, body, signal)[Symbol.asyncIterator]();
    try {
      while (true) {
        const next = await raceAbort(iterator.next(), signal);
        if (next.done) throw platformError('TRANSPORT_LOST', `the answer of ${call.shardId} to ${call.method} was cut off`);
        const frame = rpcFrame.decode(next.value);
        if (frame.kind === 'json') yield frame.value;
        else if (frame.kind === 'bytes') yield frame.bytes;
        else if (frame.kind === 'error') throw this.#failureOf(frame);
        else return this.#observe(call, frame.timestamp);
      }
    } finally {
      // Not awaited: a generator that waits for the network returns when its signal, aborted by our caller, wakes it.
      iterator.return?.(undefined)?.catch(() => undefined);
    }
  }

  #encode(call: RemoteCall): Uint8Array {
    const body = utf8.encode(JSON.stringify(call.body));
    const { messageBytesMax } = this.#options;
    if (body.length <= messageBytesMax) return body;
    throw rpcError('MESSAGE_TOO_LARGE', `the request of ${call.method} has ${body.length} bytes, the limit is ${messageBytesMax}`);
  }

  /**
   * The peer has answered, but what it did lies further ahead than this shard's clock follows: what is read here next could miss it. To
   * the caller that is a lost answer, never a refusal: the call has run.
   */
  #observe(call: RemoteCall, timestamp: number): void {
    try {
      this.#timestamps.observe(timestamp);
    } catch (cause) {
      throw rpcError(
        'SHARD_UNAVAILABLE',
        `shard ${call.shardId} answered ${call.method} from too far ahead: ${toOstrakaError(cause).message}`,
        {
          data: { shard: call.shardId, mayHaveRun: true },
          cause,
        },
      );
    }
  }

  /** What the peer says went wrong, whatever its clock shows: nothing has to be ordered after a failure. */
  #failureOf(frame: { readonly error: OstrakaErrorJson; readonly timestamp: number }): OstrakaError {
    try {
      this.#timestamps.observe(frame.timestamp);
    } catch {
      this.#logger.warn('rpc.clock_ahead', { code: frame.error.code });
    }
    return new OstrakaError(frame.error);
  }

  #open(call: RemoteCall, body: Uint8Array, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const headers = {
      'x-deadline-ms': String(Math.max(1, Math.round(call.deadlineMs ?? this.#options.requestTimeoutMs))),
      'x-timestamp': String(this.#timestamps.last()),
    };
    if (call.shardId === this.selfShardId) {
      return this.#server.handle({ peerShardId: call.shardId, method: call.method, headers, body, signal });
    }
    const { address } = this.#peer(call.shardId);
    return this.#transport.call({
      peer: { shardId: call.shardId, address },
      method: call.method,
      headers,
      body,
      channel: call.channel ?? 'control',
      signal,
    });
  }

  #peer(shardId: ShardId): Peer {
    const peer = this.#peers.find(shardId);
    if (peer) return peer;
    throw rpcError('SHARD_UNAVAILABLE', `shard ${shardId} is not a living member of the cluster`, {
      data: { shard: shardId, mayHaveRun: false },
    });
  }

  #breaker(shardId: ShardId): CircuitBreaker {
    const incarnation = this.#peers.find(shardId)?.incarnation ?? 0;
    let known = this.#breakers.get(shardId);
    if (!known) {
      const { breakerFailuresMax: failuresMax, breakerRecoveryMs: recoveryMs } = this.#options;
      known = { breaker: new CircuitBreaker({ clock: this.#clock, failuresMax, recoveryMs }), incarnation };
      this.#breakers.set(shardId, known);
    }
    if (incarnation > known.incarnation) {
      known.incarnation = incarnation;
      known.breaker.reset();
    }
    return known.breaker;
  }

  #enter(shardId: ShardId): { proven(): void; end(outcome: 'success' | 'failure' | 'neutral'): void } {
    if (shardId === this.selfShardId) return { proven: () => undefined, end: () => undefined };
    const breaker = this.#breaker(shardId);
    const guard = breaker.tryEnter();
    if (!guard) throw rpcError('BREAKER_OPEN', `shard ${shardId} failed repeatedly and is not asked now`, { data: { shard: shardId } });
    return {
      proven: () => guard.proven(),
      end: (outcome) => {
        const wasOpen = breaker.state !== 'closed';
        guard.end(outcome);
        if (wasOpen || breaker.state === 'closed') return;
        this.#metrics.breakerOpened.add(1, { shard: shardId });
        this.#logger.warn('breaker.opened', { shard: shardId });
      },
    };
  }

  #translate(call: RemoteCall, error: OstrakaError): OstrakaError {
    if (!transportCodes.has(error.code)) return error;
    return rpcError('SHARD_UNAVAILABLE', `shard ${call.shardId} did not answer ${call.method}: ${error.message}`, {
      data: { shard: call.shardId, mayHaveRun: error.code === 'TRANSPORT_LOST' },
      cause: error,
    });
  }

  /** The last try surely did not run, but an earlier one may have: that is what the caller has to know. */
  #afterLostTry(call: RemoteCall, error: unknown): unknown {
    if (!(error instanceof OstrakaError)) return error;
    const isRefused = error.code === 'BREAKER_OPEN' || (error.code === 'SHARD_UNAVAILABLE' && error.data['mayHaveRun'] === false);
    if (!isRefused) return error;
    return rpcError('SHARD_UNAVAILABLE', `shard ${call.shardId} was lost during ${call.method} and is not reached again`, {
      data: { shard: call.shardId, mayHaveRun: true },
      cause: error,
    });
  }

  #mayRetry(call: RemoteCall, error: unknown, attempt: number): boolean {
    if (call.signal.aborted || attempt >= this.#options.retriesMax) return false;
    if (!(error instanceof OstrakaError) || error.code !== 'SHARD_UNAVAILABLE') return false;
    // A shard that is gone from the directory does not come back within a retry.
    return (call.idempotent || error.data['mayHaveRun'] === false) && this.#peers.find(call.shardId) !== undefined;
  }
}

// A peer that answered, if only with an error of its own, has a working transport. A call that its caller gave up says nothing.
const outcomeOf = (
  error: OstrakaError,
  ending: { readonly gaveUp: boolean; readonly timedOut: boolean },
): 'success' | 'failure' | 'neutral' => {
  if (ending.gaveUp) return 'neutral';
  return ending.timedOut || transportCodes.has(error.code) ? 'failure' : 'success';
};
