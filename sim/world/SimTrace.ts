import { createHash, type Hash } from 'node:crypto';

/**
 * Everything that happened, as one running SHA-256: two runs are the same when their hashes are. The newest lines are kept in words, for
 * reports of violations.
 */
export class SimTrace {
  readonly #hash: Hash = createHash('sha256');
  readonly #newest: string[] = [];
  readonly #linesKept: number;
  readonly #onLine: ((line: string) => void) | undefined;
  #lines = 0;

  constructor(options: { readonly linesKept: number; readonly onLine: ((line: string) => void) | undefined }) {
    this.#linesKept = options.linesKept;
    this.#onLine = options.onLine;
  }

  get lines(): number {
    return this.#lines;
  }

  add(line: string, bytes?: Uint8Array): void {
    if (bytes) this.#hash.update(line).update(bytes).update('\n');
    else this.#hash.update(`${line}\n`);
    this.#lines++;
    this.#onLine?.(line);
    this.#newest.push(line);
    if (this.#newest.length > this.#linesKept * 2) this.#newest.splice(0, this.#linesKept);
  }

  newest(): readonly string[] {
    return this.#newest.slice(-this.#linesKept);
  }

  /** The hash of the run so far; the trace goes on. */
  sha256(): string {
    return this.#hash.copy().digest('hex');
  }
}
