import type { Random } from '../../src/platform/index.js';

/**
 * Seeded randomness (sfc32). A fork depends on the seed and its label alone, never on how many numbers were drawn before, so that a new
 * call in one part of the program does not shift another.
 */
export class SimRandom implements Random {
  readonly #seed: string;
  readonly #state: Uint32Array;

  constructor(seed: string) {
    this.#seed = seed;
    this.#state = Uint32Array.of(hashText(seed, 0x9e3779b9), hashText(seed, 0x243f6a88), hashText(seed, 0xb7e15162), 1);
    for (let i = 0; i < warmUpDraws; i++) this.uint32();
  }

  uint32(): number {
    const [a, b, c, counter] = this.#state as unknown as [number, number, number, number];
    const drawn = (a + b + counter) >>> 0;
    this.#state[3] = counter + 1;
    this.#state[0] = b ^ (b >>> 9);
    this.#state[1] = c + (c << 3);
    this.#state[2] = ((c << 21) | (c >>> 11)) + drawn;
    return drawn;
  }

  next(): number {
    return this.uint32() / 2 ** 32;
  }

  fork(label: string): SimRandom {
    return new SimRandom(`${this.#seed}/${label}`);
  }

  /** Uniform in [min, max). */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** Uniform integer in [0, count). */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }
}

const warmUpDraws = 12;

const hashText = (text: string, basis: number): number => {
  let hash = basis;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  return (hash ^ (hash >>> 15)) >>> 0;
};
