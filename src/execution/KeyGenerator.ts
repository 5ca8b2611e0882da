import type { Clock, Random } from '../platform/index.js';

const timeDigits = 12;
const chanceDigits = 8;

/** Keys for documents inserted without one: milliseconds and 32 random bits in hexadecimal, so that they grow with time and need no shard's word. */
export class KeyGenerator {
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(parts: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  next(): string {
    const time = this.#clock.nowMs().toString(16).padStart(timeDigits, '0');
    return time + this.#random.uint32().toString(16).padStart(chanceDigits, '0');
  }
}
