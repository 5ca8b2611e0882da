import { executionError } from './errors.js';
import type { QueryMemory } from './QueryMemory.js';

/** What all parts of one query hold and make on this shard at a time, in bytes; a share of what all queries may. */
export class MemoryLimit {
  readonly limitBytes: number;
  readonly #all: QueryMemory;
  #usedBytes = 0;
  #peakBytes = 0;
  #hasEnded = false;

  constructor(limitBytes: number, all: QueryMemory) {
    this.limitBytes = limitBytes;
    this.#all = all;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get peakBytes(): number {
    return this.#peakBytes;
  }

  /**
   * Errors: QUERY_MEMORY_LIMIT (32) above `limitBytes`, QUERIES_MEMORY_LIMIT. What was too much is taken too, and is given back with the
   * rest.
   */
  take(bytes: number): void {
    this.#usedBytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes);
    if (!this.#hasEnded) this.#all.take(bytes);
    if (this.#usedBytes <= this.limitBytes) return;
    throw executionError('QUERY_MEMORY_LIMIT', `the query holds and makes more than its memoryLimit of ${this.limitBytes} bytes at a time`);
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
    if (!this.#hasEnded) this.#all.give(bytes);
  }

  /** The query has ended, however: its share is free for others. Idempotent. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#all.give(this.#usedBytes);
  }
}
