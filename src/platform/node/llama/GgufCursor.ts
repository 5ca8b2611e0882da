import { readSync } from 'node:fs';
import { GgufFault } from './GgufFault.js';

const windowBytes = 1 << 20;

/** Reads a file forward through a window of 1 MiB. What would lie behind its end throws GgufFault, whatever length the file claims. */
export class GgufCursor {
  readonly #file: number;
  readonly #sizeBytes: number;
  #window = Buffer.alloc(0);
  #windowAt = 0;
  #position = 0;

  constructor(file: number, sizeBytes: number) {
    this.#file = file;
    this.#sizeBytes = sizeBytes;
  }

  get position(): number {
    return this.#position;
  }

  u32(): number {
    return this.#take(4).readUInt32LE(0);
  }

  /** A length or count. Those that no file can have are beyond its end. */
  u64(): number {
    return Number(this.#take(8).readBigUInt64LE(0));
  }

  text(): string {
    const length = this.u64();
    if (length <= windowBytes) return this.#take(length).toString('utf8');
    this.skip(length);
    return '';
  }

  /** A few bytes, shared with the window: read them before the next call. */
  bytes(count: number): Buffer {
    return this.#take(count);
  }

  skip(bytes: number): void {
    this.#check(bytes);
    this.#position += bytes;
  }

  #take(bytes: number): Buffer {
    this.#check(bytes);
    const end = this.#position + bytes;
    if (end > this.#windowAt + this.#window.length || this.#position < this.#windowAt) this.#fill();
    const part = this.#window.subarray(this.#position - this.#windowAt, end - this.#windowAt);
    if (part.length < bytes) throw new GgufFault('the file became shorter while it was read');
    this.#position = end;
    return part;
  }

  #check(bytes: number): void {
    if (this.#position + bytes <= this.#sizeBytes) return;
    throw new GgufFault(`the file is truncated: its ${this.#sizeBytes} bytes end inside its description`);
  }

  #fill(): void {
    const window = Buffer.alloc(Math.min(windowBytes, this.#sizeBytes - this.#position));
    this.#window = window.subarray(0, readSync(this.#file, window, 0, window.length, this.#position));
    this.#windowAt = this.#position;
  }
}
