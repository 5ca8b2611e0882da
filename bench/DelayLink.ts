import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface LinkShape {
  /** One way. */
  readonly delayMs: number;
  /** Absent = as fast as loopback. */
  readonly bytesPerMs?: number;
}

/** A TCP link to a port of this machine that delays, and if told so limits, both ways: a slower network between two shards. */
export class DelayLink {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.port = (server.address() as AddressInfo).port;
  }

  static async open(targetPort: number, shape: LinkShape): Promise<DelayLink> {
    const sockets = new Set<Socket>();
    const server = createServer((inward) => {
      const outward = connect(targetPort, '127.0.0.1');
      for (const socket of [inward, outward]) {
        socket.setNoDelay(true);
        sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          sockets.delete(socket);
          (socket === inward ? outward : inward).destroy();
        });
      }
      pass(inward, outward, shape);
      pass(outward, inward, shape);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new DelayLink(server, sockets);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** Each chunk arrives `delayMs` after it has left, and leaves when those before it have. */
function pass(from: Socket, to: Socket, { delayMs, bytesPerMs = Number.POSITIVE_INFINITY }: LinkShape): void {
  let freeAtMs = 0;
  from.on('data', (chunk) => {
    freeAtMs = Math.max(freeAtMs, performance.now()) + chunk.length / bytesPerMs;
    setTimeout(() => to.write(chunk), freeAtMs - performance.now() + delayMs);
    const behindMs = freeAtMs - performance.now();
    if (behindMs < 50) return;
    from.pause();
    setTimeout(() => from.resume(), behindMs - 25);
  });
}
