/**
 * Numbers in [0, 1) from a seed and the name of their use: the same on every machine, and independent of what else was drawn. Not for
 * secrets. A 32-bit counter through a mixing function of two multiplications.
 */
export class SeededNumbers {
  #state: number;

  constructor(seed: number, ...use: readonly number[]) {
    this.#state = use.reduce((state, part) => mix(state ^ mix(part + golden)), mix(seed));
  }

  next(): number {
    this.#state = (this.#state + golden) | 0;
    return (mix(this.#state) >>> 0) / 2 ** 32;
  }
}

/** 2^32 over the golden ratio: its multiples spread evenly. */
const golden = 0x9e37_79b9;

const mix = (value: number): number => {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0_aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a_2d97);
  return bits ^ (bits >>> 15);
};
