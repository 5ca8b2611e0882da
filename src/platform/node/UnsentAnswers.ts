import type { ServerResponse } from 'node:http';

/** What answers of a server wait to be sent, over all its connections: clients that do not read would otherwise fill its memory. */
export class UnsentAnswers {
  readonly #idleMs: number;
  readonly #bytesMax: number;
  #bytes = 0;

  constructor({ idleMs, bytesMax }: { readonly idleMs: number; readonly bytesMax: number }) {
    this.#idleMs = idleMs;
    this.#bytesMax = bytesMax;
  }

  /** True when no further request should make an answer. */
  get isFull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  /**
   * Follows an answer until its connection is done with it. `hold` counts bytes, until what it gives is called or the answer is over. A
   * connection that takes none of its bytes for `idleMs` is destroyed; one whose answer has none to send yet is not.
   */
  follow(response: ServerResponse): { readonly hold: (bytes: number) => () => void } {
    let held = 0;
    const add = (bytes: number): void => {
      held += bytes;
      this.#bytes += bytes;
    };
    response.setTimeout(this.#idleMs, () => {
      if (response.writableLength > 0) response.destroy();
    });
    response.once('close', () => add(-held));
    return {
      hold: (bytes) => {
        add(bytes);
        return () => add(-Math.min(bytes, held));
      },
    };
  }
}
