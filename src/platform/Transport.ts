import type { ShardId } from '../base/index.js';

export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

/** One call: a method, small text headers, one request body, a stream of response frames. A unary call is a stream of one frame. */
export interface OutgoingCall {
  readonly peer: { readonly shardId: ShardId; readonly address: PeerAddress };
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array;
  /** `bulk` calls run on a session of their own, so that they cannot stall small ones. */
  readonly channel: 'control' | 'bulk';
  /** Aborting sends a cancel message to the peer (never RST_STREAM) and ends the iteration with the reason. */
  readonly signal: AbortSignal;
}

export interface IncomingCall {
  /** From the peer's certificate, never from a header (R33). */
  readonly peerShardId: ShardId;
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array;
  /** Aborts when the caller cancels or the session is lost. */
  readonly signal: AbortSignal;
}

/** Answers one call with frames; a thrown error must already be encoded as a frame by `rpc` (an escape here ends the call as `TRANSPORT_LOST`). */
export type CallHandler = (call: IncomingCall) => AsyncIterable<Uint8Array>;

/**
 * Authenticated message streams between shards (R33): HTTP/2 with mutual TLS, or the simulator's network.
 * Frames of one call keep their order; a call's frames are never mixed. Delivery is at most once per call.
 * Errors: TRANSPORT_REFUSED (the peer did not get the call), TRANSPORT_LOST (it may have run), FRAME_TOO_LARGE.
 */
export interface Transport {
  call(call: OutgoingCall): AsyncIterable<Uint8Array>;
  listen(handler: CallHandler): Promise<{ readonly address: PeerAddress }>;
  close(): Promise<void>;
}
