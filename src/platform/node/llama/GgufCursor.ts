import { readSync } from 'node:fs';
import { GgufFault } from './GgufFault.js';

const windowBytes = 1 << 20;
// 2 PiB; sums and small multiples of such numbers are exact.
const sizeMax = 2n ** 51n;

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
    return this.take(4).readUInt32LE(0);
  }

  /** A length, count or offset; one that no file can have is refused, so that sums of them stay exact. */
  size(what: string): number {
    const value = this.take(8).readBigUInt64LE(0);
    if (value > sizeMax) throw new GgufFault(`${what} is ${value}, more than any file has`);
    return Number(value);
  }

  /** A text of at most `bytesMax`. */
  text(what: string, bytesMax: number): string {
    const length = this.size(`the length of ${what}`);
    if (length > Math.min(bytesMax, windowBytes)) {
      this.skip(length); // a cut file is told as one
      throw new GgufFault(`${what} has ${length} bytes (at most ${bytesMax})`);
    }
    return this.take(length).toString('utf8');
  }

  skip(bytes: number): void {
    this.#check(bytes);
    this.#position += bytes;
  }

  /** At most a window. Valid until the next read. */
  take(bytes: number): Buffer {
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
