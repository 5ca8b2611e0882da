import { executionError } from './errors.js';

/**
 * What all queries of this shard hold and make at a time, in bytes: many of them within their own limits could still be more than the
 * machine has. Error QUERIES_MEMORY_LIMIT for the one that goes beyond; it is retryable, since others end.
 */
export class QueryMemory {
  readonly #bytesMax: number;
  #usedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  take(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes <= this.#bytesMax) return;
    throw executionError('QUERIES_MEMORY_LIMIT', `all queries of this shard hold and make more than ${this.#bytesMax} bytes at a time`);
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
