import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';

const pieceBytesMax = 1024 * 1024;

/** A file that only takes up room on the disk, so that there is some to give back when everything else is taken. */
export class BallastFile {
  readonly #path: string;
  readonly #bytes: number;
  #isHeld: boolean;

  /** One that an earlier run left is taken over. */
  constructor(options: { readonly path: string; readonly bytes: number }) {
    this.#path = options.path;
    this.#bytes = options.bytes;
    this.#isHeld = this.#bytes > 0 && statSync(this.#path, { throwIfNoEntry: false })?.size === this.#bytes;
    if (!this.#isHeld) this.release();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Synchronous: it happens at the start and after a full disk, and takes milliseconds. Random bytes, which no file system compresses away. */
  hold(): void {
    if (this.#isHeld || this.#bytes === 0) return;
    try {
      this.#write();
      this.#isHeld = true;
    } catch {
      this.release(); // no room for it: the caller's plan goes by isHeld
    }
  }

  release(): void {
    this.#isHeld = false;
    rmSync(this.#path, { force: true });
  }

  #write(): void {
    const file = openSync(this.#path, 'w', 0o600);
    try {
      const piece = randomBytes(Math.min(this.#bytes, pieceBytesMax));
      for (let at = 0; at < this.#bytes; at += piece.length) writeWhole(file, piece.subarray(0, this.#bytes - at));
    } finally {
      closeSync(file);
    }
  }
}

const writeWhole = (file: number, bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
};
