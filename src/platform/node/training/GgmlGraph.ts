import type { Pointer } from '../llama/LlamaApi.js';
import type { GgmlApi } from './GgmlApi.js';

/** ggml's numbers of the tensor types that are written here. */
export const ggmlTypes = { f32: 0, f16: 1, q8_0: 8, i32: 26 } as const;

/** How positions turn pairs of values. */
export interface RopeShape {
  readonly dimensions: number;
  readonly base: number;
}

/**
 * A graph in the making: each method adds an operation and returns its result, nothing is computed. Sizes are innermost first. Only
 * what an output depends on becomes part of the graph.
 */
export class GgmlGraph {
  readonly pointer: Pointer;
  readonly #api: GgmlApi;
  readonly #context: Pointer;

  constructor(api: GgmlApi, context: Pointer, nodesMax: number) {
    this.#api = api;
    this.#context = context;
    this.pointer = api.newGraph(context, nodesMax, false);
  }

  /** A tensor whose data is written before the graph runs. */
  input(type: number, ...sizes: number[]): Pointer {
    const tensor = this.shape(type, ...sizes);
    this.#api.setInput(tensor);
    return tensor;
  }

  /** A tensor that only lends its sizes. */
  shape(type: number, ...sizes: number[]): Pointer {
    return this.#api.newTensor(this.#context, type, sizes.length, BigInt64Array.from(sizes, BigInt));
  }

  /** A result whose data is still there after the graph ran. */
  output(tensor: Pointer): Pointer {
    this.#api.setOutput(tensor);
    this.#api.expand(this.pointer, tensor);
    return tensor;
  }

  /** [k, m] and [k, n] → [m, n]: every row of the one with every row of the other. The first may be quantised. */
  matmul(a: Pointer, b: Pointer): Pointer {
    return this.#api.mulMat(this.#context, a, b);
  }

  /** [m, k] and [n, k] → [m, n], summed over k. */
  outerProduct(a: Pointer, b: Pointer): Pointer {
    return this.#api.outProd(this.#context, a, b);
  }

  add(a: Pointer, b: Pointer): Pointer {
    return this.#api.add(this.#context, a, b);
  }

  subtract(a: Pointer, b: Pointer): Pointer {
    return this.#api.sub(this.#context, a, b);
  }

  /** Value by value; the second is repeated to the size of the first. */
  multiply(a: Pointer, b: Pointer): Pointer {
    return this.#api.mul(this.#context, a, b);
  }

  scale(a: Pointer, factor: number): Pointer {
    return this.#api.scale(this.#context, a, factor);
  }

  rmsNorm(a: Pointer, epsilon: number): Pointer {
    return this.#api.rmsNorm(this.#context, a, epsilon);
  }

  rmsNormBack(gradient: Pointer, a: Pointer, epsilon: number): Pointer {
    return this.#api.rmsNormBack(this.#context, gradient, a, epsilon);
  }

  silu(a: Pointer): Pointer {
    return this.#api.silu(this.#context, a);
  }

  siluBack(gradient: Pointer, a: Pointer): Pointer {
    return this.#api.siluBack(this.#context, gradient, a);
  }

  rows(table: Pointer, rows: Pointer): Pointer {
    return this.#api.getRows(this.#context, table, rows);
  }

  /** Gradient of the table that rows were taken from. */
  rowsBack(gradient: Pointer, rows: Pointer, table: Pointer): Pointer {
    return this.#api.getRowsBack(this.#context, gradient, rows, table);
  }

  /** Sums what was repeated to the size of `a` back to the size of `shape`. */
  repeatBack(a: Pointer, shape: Pointer): Pointer {
    return this.#api.repeatBack(this.#context, a, shape);
  }

  /** Of scale × a + mask, along rows. */
  softMax(a: Pointer, options: { readonly mask: Pointer | null; readonly scale: number }): Pointer {
    return this.#api.softMax(this.#context, a, options.mask, options.scale, 0);
  }

  softMaxBack(gradient: Pointer, probabilities: Pointer, scale: number): Pointer {
    return this.#api.softMaxBack(this.#context, gradient, probabilities, scale, 0);
  }

  reshape(a: Pointer, w: number, x: number, y = 1, z = 1): Pointer {
    return this.#api.reshape(this.#context, a, w, x, y, z);
  }

  /** Exchanges the second and the third dimension. */
  swapMiddle(a: Pointer): Pointer {
    return this.#api.contiguous(this.#context, this.#api.permute(this.#context, a, 0, 2, 1, 3));
  }

  /** Exchanges rows and columns. */
  transpose(a: Pointer): Pointer {
    return this.#api.contiguous(this.#context, this.#api.transpose(this.#context, a));
  }

  toFloats(a: Pointer): Pointer {
    return this.#api.cast(this.#context, a, ggmlTypes.f32);
  }

  /** Writes `a` over `target`, in the type of `target`. */
  copy(a: Pointer, target: Pointer): Pointer {
    return this.#api.copy(this.#context, a, target);
  }

  rope(a: Pointer, positions: Pointer, rope: RopeShape): Pointer {
    return this.#api.rope(this.#context, a, positions, null, rope.dimensions, 0, 0, rope.base, 1, 0, 1, 32, 1);
  }

  ropeBack(gradient: Pointer, positions: Pointer, rope: RopeShape): Pointer {
    return this.#api.ropeBack(this.#context, gradient, positions, null, rope.dimensions, 0, 0, rope.base, 1, 0, 1, 32, 1);
  }
}
