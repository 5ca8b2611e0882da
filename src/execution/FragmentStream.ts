import { AsyncQueue, type JsonValue } from '../base/index.js';
import type { FragmentFrame } from './fragmentWire.js';
import type { MemoryAccount } from './MemoryAccount.js';

type Rows = readonly (readonly JsonValue[])[];

/**
 * One shard's answer, read ahead by a few blocks so that all shards work at once; while memory is short, only when its reader is done
 * with the block before. `onFrame` sees every frame as it arrives; an error of the source ends the rows with it and is told to `onError` at
 * once, since the reader may be busy with another shard. Blocks that wait count to `memory`; whoever closes the stream closes that too.
 */
export class FragmentStream {
  readonly #queue: AsyncQueue<Extract<FragmentFrame, { readonly kind: 'block' }>>;
  readonly #blocksQueuedMax: number;
  readonly #memory: MemoryAccount;
  /** That wait or are being read. */
  #blocksHeld = 0;
  #onRead: () => void = () => undefined;

  constructor(parts: {
    readonly frames: AsyncIterable<FragmentFrame>;
    readonly blocksQueuedMax: number;
    readonly memory: MemoryAccount;
    readonly onFrame: (frame: FragmentFrame) => void;
    readonly onError: (error: unknown) => void;
  }) {
    this.#queue = new AsyncQueue({ itemsMax: parts.blocksQueuedMax });
    this.#blocksQueuedMax = parts.blocksQueuedMax;
    this.#memory = parts.memory;
    this.#pump(parts.frames, parts.onFrame).then(
      () => this.#queue.close(),
      (error: unknown) => {
        this.#queue.fail(error);
        parts.onError(error);
      },
    );
  }

  async *rows(): AsyncGenerator<Rows, void, void> {
    for await (const { rows, bytes } of this.#queue) {
      this.#memory.release(bytes); // whoever reads accounts for what it keeps
      this.#onRead();
      yield rows;
      this.#blocksHeld--;
      this.#onRead();
    }
  }

  /** Nobody reads on: a pump that waits for room ends, and with it the call. */
  close(): void {
    this.#queue.close();
    this.#onRead();
  }

  async #pump(frames: AsyncIterable<FragmentFrame>, onFrame: (frame: FragmentFrame) => void): Promise<void> {
    for await (const frame of frames) {
      if (this.#queue.ended) return; // nobody counts on its shard any more
      onFrame(frame);
      if (frame.kind !== 'block') continue;
      this.#memory.holdBytes(frame.bytes);
      this.#blocksHeld++;
      this.#queue.push(frame);
      while (!this.#queue.ended && !this.#hasRoom) await this.#read();
      if (this.#queue.ended) return;
    }
  }

  get #hasRoom(): boolean {
    return this.#memory.hasRoom ? this.#queue.length < this.#blocksQueuedMax : this.#blocksHeld === 0;
  }

  #read(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRead = resolve;
    });
  }
}
