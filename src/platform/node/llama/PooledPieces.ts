import { assert } from '../../../base/index.js';
import type { Pooling } from './choosePooling.js';

/** The vector of a text out of the vectors that each of its pieces was pooled into: as if all its rows had been of one pass. */
export class PooledPieces {
  readonly #pooling: Exclude<Pooling, 'rank'>;
  #sum: Float64Array | undefined;
  #rows = 0;

  constructor(pooling: Exclude<Pooling, 'rank'>) {
    this.#pooling = pooling;
  }

  /** Rows read so far. */
  get rows(): number {
    return this.#rows;
  }

  add(vector: Float32Array, rows: number): void {
    this.#sum = this.#sum === undefined ? scaled(vector, this.#pooling === 'mean' ? rows : 1) : this.#joined(this.#sum, vector, rows);
    this.#rows += rows;
  }

  get vector(): Float32Array {
    assert(this.#sum !== undefined, 'a text has a piece');
    const weight = this.#pooling === 'mean' ? this.#rows : 1;
    return Float32Array.from(this.#sum, (value) => value / weight);
  }

  #joined(sum: Float64Array, vector: Float32Array, rows: number): Float64Array {
    if (this.#pooling === 'cls') return sum; // the first row of all
    if (this.#pooling === 'last') return scaled(vector, 1);
    return sum.map((value, i) => value + rows * (vector[i] as number));
  }
}

const scaled = (vector: Float32Array, by: number): Float64Array => Float64Array.from(vector, (value) => value * by);
