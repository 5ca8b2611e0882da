import type { Clock, Random } from '../platform/index.js';

const timeDigits = 12;
const chanceDigits = 14;

/** Keys for documents inserted without one: milliseconds and 56 random bits in hexadecimal, so that they grow with time and need
 * no shard's word. Two that are equal are refused by the insert, never overwritten. */
export class KeyGenerator {
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(parts: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  next(): string {
    const time = this.#clock.nowMs().toString(16).padStart(timeDigits, '0');
    const part = (): string => this.#random.uint32().toString(16).padStart(8, '0');
    return time + (part() + part()).slice(0, chanceDigits);
  }
}
