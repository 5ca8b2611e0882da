import { sizeOfValue } from '../aql/index.js';
import type { JsonValue } from '../base/index.js';
import type { MemoryLimit } from './MemoryLimit.js';

/**
 * What one part of a query has alive: what its operators hold, and what its expressions made since its last block edge. Parts that run
 * side by side have an account each, since the block edge of one says nothing of the others; all draw on the limit of the query.
 * Error QUERY_MEMORY_LIMIT (32) above that.
 */
export class MemoryAccount {
  readonly limit: MemoryLimit;
  readonly #forgetMe: () => void;
  readonly #parts = new Set<MemoryAccount>();
  #heldBytes = 0;
  #madeBytes = 0;

  constructor(limit: MemoryLimit, forgetMe: () => void = () => undefined) {
    this.limit = limit;
    this.#forgetMe = forgetMe;
  }

  /** False: another part at the same time may well be too much. */
  get hasRoom(): boolean {
    return this.limit.usedBytes <= this.limit.limitBytes / 2;
  }

  fork(): MemoryAccount {
    const part: MemoryAccount = new MemoryAccount(this.limit, () => this.#parts.delete(part));
    this.#parts.add(part);
    return part;
  }

  /** Memory of a value that an expression makes. */
  allocate(bytes: number): void {
    this.#madeBytes += bytes;
    this.limit.take(bytes);
  }

  /** At a block edge: the values made for the block before have moved on. */
  moveOn(): void {
    this.limit.give(this.#madeBytes);
    this.#madeBytes = 0;
  }

  /** Accounts for a value that is kept; returns its bytes, to be released later. What was just made is not counted a second time. */
  hold(value: JsonValue | readonly (JsonValue | undefined)[]): number {
    const bytes = sizeOfValue(value as JsonValue, this.limit.limitBytes);
    this.holdMade(bytes);
    return bytes;
  }

  /** As `hold`, of so many bytes. */
  holdMade(bytes: number): void {
    const made = Math.min(bytes, this.#madeBytes);
    this.#madeBytes -= made;
    this.limit.give(made);
    this.holdBytes(bytes);
  }

  /** For what another part has made. */
  holdBytes(bytes: number): void {
    this.#heldBytes += bytes;
    this.limit.take(bytes);
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
    this.limit.give(bytes);
  }

  /** The part has ended, with all its own parts: nothing of it is alive. */
  close(): void {
    for (const part of this.#parts) part.close();
    this.moveOn();
    this.release(this.#heldBytes);
    this.#forgetMe();
  }
}
