import { AsyncQueue, type JsonValue } from '../base/index.js';
import type { FragmentFrame } from './fragmentWire.js';

type Rows = readonly (readonly JsonValue[])[];

/**
 * One shard's answer, read ahead by a few blocks so that all shards work at once. `onFrame` sees every frame as it arrives; an error of
 * the source ends the rows with it and is told to `onError` at once, since the reader may be busy with another shard.
 */
export class FragmentStream {
  readonly #queue: AsyncQueue<Rows>;

  constructor(parts: {
    readonly frames: AsyncIterable<FragmentFrame>;
    readonly blocksQueuedMax: number;
    readonly onFrame: (frame: FragmentFrame) => void;
    readonly onError: (error: unknown) => void;
  }) {
    this.#queue = new AsyncQueue<Rows>({ itemsMax: parts.blocksQueuedMax });
    this.#pump(parts.frames, parts.onFrame).then(
      () => this.#queue.close(),
      (error: unknown) => {
        this.#queue.fail(error);
        parts.onError(error);
      },
    );
  }

  rows(): AsyncIterable<Rows> {
    return this.#queue;
  }

  /** Nobody reads on: a pump that waits for room ends, and with it the call. */
  close(): void {
    this.#queue.close();
  }

  async #pump(frames: AsyncIterable<FragmentFrame>, onFrame: (frame: FragmentFrame) => void): Promise<void> {
    for await (const frame of frames) {
      if (this.#queue.ended) return; // nobody counts on its shard any more
      onFrame(frame);
      if (frame.kind !== 'block') continue;
      await this.#queue.whenDrained();
      if (this.#queue.ended) return;
      this.#queue.push(frame.rows);
    }
  }
}
