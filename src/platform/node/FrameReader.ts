import { platformError } from '../index.js';
import { frameHeader } from './frameHeader.js';

/** Cuts a byte stream into frames. Throws FRAME_TOO_LARGE before it buffers an oversized one; holds at most one frame. */
export class FrameReader {
  readonly #frameBytesMax: number;
  readonly #onFrame: (frame: Uint8Array) => void;
  readonly #onCancel: () => void;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #wanted: number | undefined;

  constructor(parts: { readonly frameBytesMax: number; readonly onFrame: (frame: Uint8Array) => void; readonly onCancel: () => void }) {
    this.#frameBytesMax = parts.frameBytesMax;
    this.#onFrame = parts.onFrame;
    this.#onCancel = parts.onCancel;
  }

  /** Whether the bytes so far end with a whole frame. */
  get isAtBorder(): boolean {
    return this.#buffered === 0 && this.#wanted === undefined;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    while (this.#step());
  }

  #step(): boolean {
    if (this.#wanted === undefined) {
      if (this.#buffered < frameHeader.bytes) return false;
      return this.#startFrame(this.#take(frameHeader.bytes).readUInt32BE());
    }
    if (this.#buffered < this.#wanted) return false;
    const frame = this.#take(this.#wanted);
    this.#wanted = undefined;
    this.#onFrame(frame);
    return true;
  }

  #startFrame(length: number): boolean {
    if (length === frameHeader.cancelLength) this.#onCancel();
    else if (length > this.#frameBytesMax)
      throw platformError('FRAME_TOO_LARGE', `a frame of ${length} bytes is over the limit of ${this.#frameBytesMax}`);
    else this.#wanted = length;
    return true;
  }

  #take(length: number): Buffer {
    const all = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = all.length > length ? [all.subarray(length)] : [];
    this.#buffered -= length;
    return all.subarray(0, length);
  }
}
