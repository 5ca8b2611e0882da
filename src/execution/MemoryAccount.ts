import { sizeOfValue } from '../aql/index.js';
import type { JsonValue } from '../base/index.js';
import { executionError } from './errors.js';

/** What one query buffers on this shard, in bytes. Error QUERY_MEMORY_LIMIT (32) above `limitBytes`. */
export class MemoryAccount {
  readonly #limitBytes: number;
  #usedBytes = 0;
  #peakBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get peakBytes(): number {
    return this.#peakBytes;
  }

  /** Accounts for a value that is kept; returns its bytes, to be released later. */
  hold(value: JsonValue | readonly (JsonValue | undefined)[]): number {
    const bytes = sizeOfValue(value as JsonValue, this.#limitBytes - this.#usedBytes);
    this.#usedBytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes);
    if (this.#usedBytes <= this.#limitBytes) return bytes;
    throw executionError('QUERY_MEMORY_LIMIT', `the query buffers more than its memoryLimit of ${this.#limitBytes} bytes`);
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
