import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Of a first line: enough to know the path by. */
const lineBytesMax = 4_096;

interface Begun {
  /** What was answered on the connection before. */
  readonly after: ServerResponse | undefined;
  readonly line: string;
}

/**
 * First lines of requests whose heads are still being read. Node's parser reports a head that it refuses with its last packet alone, in
 * which the line no longer is when the head came in several.
 */
export class RequestLines {
  readonly #begun = new WeakMap<Socket, Begun>();

  /** Follows a new connection; `last` is its last request that could be parsed, as its answer. */
  follow(socket: Socket, last: () => ServerResponse | undefined): void {
    // Before the parser sees the packet: after it, the request would have moved on.
    socket.prependListener('data', (packet: Buffer) => {
      const after = last();
      if (after !== undefined && !after.req.complete) return; // of a body
      const begun = this.#begun.get(socket);
      if (begun === undefined || begun.after !== after) this.#begun.set(socket, { after, line: firstLine(packet) });
    });
  }

  /** Of the head that is being read, or undefined where none is known to have begun. */
  of(socket: Socket, last: ServerResponse | undefined): string | undefined {
    const begun = this.#begun.get(socket);
    return begun?.after === last ? begun?.line : undefined;
  }
}

const firstLine = (packet: Buffer): string => {
  const end = packet.indexOf('\n');
  return packet.toString('latin1', 0, Math.min(end === -1 ? packet.length : end + 1, lineBytesMax));
};
