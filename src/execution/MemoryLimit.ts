import { executionError } from './errors.js';

/** What all parts of one query hold and make on this shard at a time, in bytes. */
export class MemoryLimit {
  readonly limitBytes: number;
  #usedBytes = 0;
  #peakBytes = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get peakBytes(): number {
    return this.#peakBytes;
  }

  /** Error QUERY_MEMORY_LIMIT (32) above `limitBytes`; what was too much is taken too, and is given back with the rest. */
  take(bytes: number): void {
    this.#usedBytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes);
    if (this.#usedBytes <= this.limitBytes) return;
    throw executionError('QUERY_MEMORY_LIMIT', `the query holds and makes more than its memoryLimit of ${this.limitBytes} bytes at a time`);
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
