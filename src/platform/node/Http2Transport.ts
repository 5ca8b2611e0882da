import * as http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { AsyncQueue, asId, OstrakaError, onAbort, type ShardId, toAbortError } from '../../base/index.js';
import type { CallHandler, Logger, OutgoingCall, PeerAddress, Transport } from '../index.js';
import { platformError } from '../index.js';
import { FrameReader } from './FrameReader.js';
import { frameHeader } from './frameHeader.js';

export interface TransportCertificates {
  /** PEM of the cluster's authorities (several while one is being replaced). */
  readonly authorities: readonly string[];
  readonly certificate: string;
  readonly key: string;
}

export interface Http2TransportOptions {
  readonly clusterName: string;
  readonly selfShardId: ShardId;
  readonly host: string;
  readonly port: number;
  readonly certificates: TransportCertificates;
  readonly connectTimeoutMs: number;
  readonly pingIntervalMs: number;
  readonly frameBytesMax: number;
  /** Frames an answer may be ahead of its reader. */
  readonly framesQueuedMax: number;
  readonly logger: Logger;
  /** Sees every frame that arrives from another shard, decrypted. For tests and diagnosis: frames hold documents. */
  readonly recordFrame: ((frame: { readonly peer: ShardId; readonly method: string; readonly bytes: Uint8Array }) => void) | undefined;
}

/** Bytes of an answer that may be ahead of its reader, about; a frame more is possible. */
const answerBytesAheadMax = 4 << 20;

const sessionSettings = { initialWindowSize: 16 << 20, maxFrameSize: 256 << 10 };

/**
 * Transport over HTTP/2 with mutual TLS 1.3 (R33). The identity of a peer is the URI `spiffe://<cluster>/shard/<id>` in its certificate.
 * One control and one bulk session a peer. A call is one stream: length-prefixed frames both ways; the request side stays open so
 * that a cancel is a message (an HTTP/2 session dies after about 1,100 stream resets on Node 20).
 */
export class Http2Transport implements Transport {
  readonly #options: Http2TransportOptions;
  readonly #sessions = new Map<string, Promise<http2.ClientHttp2Session>>();
  readonly #incoming = new Set<http2.ServerHttp2Session>();
  #server: http2.Http2SecureServer | undefined;
  #closed = false;

  constructor(options: Http2TransportOptions) {
    this.#options = options;
  }

  async listen(handler: CallHandler): Promise<{ readonly address: PeerAddress }> {
    const { certificates, host, port } = this.#options;
    const server = http2.createSecureServer({
      ca: [...certificates.authorities],
      cert: certificates.certificate,
      key: certificates.key,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
      maxSessionMemory: 256,
      settings: sessionSettings,
    });
    server.on('session', (session) => this.#admit(session));
    server.on('sessionError', (error: Error) => this.#options.logger.debug('transport.session_error', { error: error.message }));
    server.on('stream', (stream, headers) => void this.#serve(stream, headers, handler));
    await listenOn(server, host, port);
    this.#server = server;
    return { address: { host, port: (server.address() as AddressInfo).port } };
  }

  async *call(call: OutgoingCall): AsyncGenerator<Uint8Array, void, void> {
    const session = await this.#session(call);
    const queue = new AsyncQueue<Uint8Array>({ itemsMax: Number.MAX_SAFE_INTEGER });
    const stream = openStream(session, call);
    const ahead = { bytes: 0 };
    pipeAnswer(stream, queue, { ...this.#options, ahead }, (bytes) => this.#record(call.peer.shardId, call.method, bytes));
    const forget = onAbort(call.signal, () => {
      if (!stream.destroyed && stream.writable) stream.end(frameHeader.cancel);
      queue.fail(toAbortError(call.signal));
    });
    try {
      stream.write(frameHeader.of(call.body.length));
      stream.write(call.body);
      for await (const frame of queue) {
        // One chunk can hold many frames: reading goes on only once most of them are used.
        ahead.bytes -= frame.length;
        if (queue.length <= this.#options.framesQueuedMax / 2 && ahead.bytes <= answerBytesAheadMax / 2) stream.resume();
        yield frame;
      }
      if (!stream.destroyed && stream.writable) stream.end();
    } finally {
      forget();
      if (!stream.destroyed && stream.writable) stream.end(frameHeader.cancel);
      stream.resume(); // what still comes of an answer nobody reads must not hold the session's window
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const session of this.#sessions.values()) session.then((one) => one.destroy()).catch(() => undefined);
    this.#sessions.clear();
    for (const session of this.#incoming) session.destroy();
    const server = this.#server;
    if (server) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  #record(peer: ShardId, method: string, bytes: Uint8Array): void {
    this.#options.recordFrame?.({ peer, method, bytes });
  }

  #admit(session: http2.ServerHttp2Session): void {
    const peer = peerOf(session.socket as TLSSocket | undefined, this.#options.clusterName);
    if (!peer) {
      session.destroy();
      return;
    }
    session.setLocalWindowSize(64 << 20);
    this.#incoming.add(session);
    session.on('close', () => this.#incoming.delete(session));
    session.on('error', (error) => this.#options.logger.debug('transport.session_error', { error: error.message }));
  }

  async #serve(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders, handler: CallHandler): Promise<void> {
    const peerShardId = peerOf(stream.session?.socket as TLSSocket | undefined, this.#options.clusterName);
    stream.on('error', () => undefined); // the close event carries the outcome
    if (!peerShardId) {
      stream.destroy();
      return;
    }
    const cancelled = new AbortController();
    stream.on('close', () => cancelled.abort(platformError('TRANSPORT_LOST', 'the calling shard is gone')));
    const method = String(headers[':path']).slice(1);
    try {
      const body = await readRequest(stream, this.#options.frameBytesMax, cancelled);
      this.#record(peerShardId, method, body);
      stream.respond({ ':status': 200 });
      await this.#answer(
        stream,
        handler({ peerShardId, method, headers: textHeaders(headers), body, signal: cancelled.signal }),
        cancelled.signal,
      );
    } catch (error) {
      this.#options.logger.debug('transport.call_lost', { method, error: error instanceof Error ? error.message : String(error) });
      if (!stream.destroyed) stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  async #answer(stream: http2.ServerHttp2Stream, frames: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    for await (const frame of frames) {
      if (stream.destroyed) return;
      stream.write(frameHeader.of(frame.length));
      if (!stream.write(frame)) await drained(stream, signal);
    }
    if (!stream.destroyed) stream.end();
  }

  /** Destroyed is not closed: Node may wait for ever, before it says 'close', for writes that a killed peer never took. */
  async #session(call: OutgoingCall): Promise<http2.ClientHttp2Session> {
    if (this.#closed) throw platformError('TRANSPORT_REFUSED', 'the shard is stopping');
    const { shardId, address } = call.peer;
    const name = `${shardId} ${address.host}:${address.port} ${call.channel}`;
    const known = this.#sessions.get(name);
    if (!known) return this.#open(name, call);
    const session = await known;
    if (!session.destroyed) return session;
    if (this.#sessions.get(name) === known) this.#sessions.delete(name);
    return this.#session(call);
  }

  #open(name: string, call: OutgoingCall): Promise<http2.ClientHttp2Session> {
    // Only itself: a late end of an old session must not forget its successor.
    const forget = (): void => {
      if (this.#sessions.get(name) === opening) this.#sessions.delete(name);
    };
    const opening = this.#connect(call, forget);
    this.#sessions.set(name, opening);
    opening.catch(forget);
    return opening;
  }

  #connect(call: OutgoingCall, onGone: () => void): Promise<http2.ClientHttp2Session> {
    const { certificates, connectTimeoutMs, clusterName } = this.#options;
    const { shardId, address } = call.peer;
    return new Promise((resolve, reject) => {
      const refuse = (why: string, cause?: unknown): void => {
        session.destroy();
        reject(platformError('TRANSPORT_REFUSED', `shard ${shardId} at ${address.host}:${address.port}: ${why}`, { cause }));
      };
      const session = http2.connect(`https://${address.host}:${address.port}`, {
        ca: [...certificates.authorities],
        cert: certificates.certificate,
        key: certificates.key,
        minVersion: 'TLSv1.3',
        maxSessionMemory: 256,
        settings: { ...sessionSettings, enablePush: false },
        // The name to check is the shard's identity, not the host it happens to run on.
        checkServerIdentity: () => undefined,
      });
      const timer = setTimeout(() => refuse(`no connection within ${connectTimeoutMs} ms`), connectTimeoutMs);
      const forget = (): void => {
        clearTimeout(timer);
        onGone();
      };
      session.once('connect', () => {
        clearTimeout(timer);
        if (peerOf(session.socket as TLSSocket, clusterName) !== shardId) return refuse('another shard answers there');
        session.setLocalWindowSize(64 << 20);
        keepAlive(session, this.#options.pingIntervalMs);
        resolve(session);
      });
      session.on('error', (error) => refuse(error.message, error));
      session.on('goaway', forget);
      session.on('close', () => {
        forget();
        reject(platformError('TRANSPORT_REFUSED', `shard ${shardId} closed the connection`));
      });
    });
  }
}

/** A session can be dead before it says so: the call did not reach the peer then. */
const openStream = (session: http2.ClientHttp2Session, { method, headers, peer }: OutgoingCall): http2.ClientHttp2Stream => {
  try {
    return session.request({ ':method': 'POST', ':path': `/${method}`, ...headers }, { endStream: false });
  } catch (error) {
    throw platformError('TRANSPORT_REFUSED', `the connection to shard ${peer.shardId} is gone`, { cause: error });
  }
};

const peerOf = (socket: TLSSocket | undefined, clusterName: string): ShardId | undefined => {
  const names = socket?.getPeerCertificate?.()?.subjectaltname ?? '';
  const prefix = `URI:spiffe://${clusterName}/shard/`;
  const found = names.split(', ').find((name) => name.startsWith(prefix));
  return found === undefined ? undefined : asId<ShardId>(found.slice(prefix.length));
};

const listenOn = (server: http2.Http2SecureServer, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? platformError('PORT_IN_USE', `port ${port} on ${host} is taken`, { cause: error }) : error);
    });
    server.listen(port, host, resolve);
  });

const textHeaders = (headers: http2.IncomingHttpHeaders): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

/** Reads the one request frame; whatever comes later on the request side is a cancel. */
const readRequest = (stream: http2.ServerHttp2Stream, frameBytesMax: number, cancelled: AbortController): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    let isRead = false;
    const onFrame = (frame: Uint8Array): void => {
      isRead = true;
      resolve(frame);
    };
    const reader = new FrameReader({ frameBytesMax, onFrame, onCancel: () => cancelled.abort(new OstrakaError(cancelledByPeer)) });
    stream.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        reject(error);
      }
    });
    stream.on('close', () => {
      if (!isRead) reject(platformError('TRANSPORT_LOST', 'the request ended before it was whole'));
    });
  });

const cancelledByPeer = {
  code: 'CANCELLED',
  message: 'the calling shard cancelled the call',
  httpStatus: 499,
  errorNum: 1500,
  retryable: false,
  data: {},
};

const pipeAnswer = (
  stream: http2.ClientHttp2Stream,
  queue: AsyncQueue<Uint8Array>,
  options: Http2TransportOptions & { readonly ahead: { bytes: number } },
  record: (bytes: Uint8Array) => void,
): void => {
  const onFrame = (frame: Uint8Array): void => {
    record(frame);
    queue.push(frame);
    options.ahead.bytes += frame.length;
    // The window closes by itself while nobody reads: back-pressure up to the other shard.
    if (queue.length >= options.framesQueuedMax || options.ahead.bytes >= answerBytesAheadMax) stream.pause();
  };
  const reader = new FrameReader({ frameBytesMax: options.frameBytesMax, onFrame, onCancel: () => undefined });
  stream.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch (error) {
      queue.fail(error);
      stream.close();
    }
  });
  stream.on('end', () => {
    // The stream itself closes only when our side ends too, which waits for the reader.
    if (reader.isAtBorder && stream.rstCode === http2.constants.NGHTTP2_NO_ERROR) queue.close();
  });
  stream.on('error', () => undefined); // followed by close
  stream.on('close', () => queue.fail(platformError('TRANSPORT_LOST', 'the connection ended in the middle of a call')));
};

const keepAlive = (session: http2.ClientHttp2Session, intervalMs: number): void => {
  let isAnswered = true;
  const timer = setInterval(() => {
    if (session.destroyed) return clearInterval(timer); // its ping would throw
    if (!isAnswered) return session.destroy();
    isAnswered = false;
    session.ping((error) => {
      isAnswered = error === null;
    });
  }, intervalMs);
  timer.unref();
  session.on('close', () => clearInterval(timer));
};

const drained = (stream: http2.ServerHttp2Stream, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('close', done);
      forget();
      resolve();
    };
    stream.once('drain', done);
    stream.once('close', done);
    const forget = onAbort(signal, done);
  });
