import { assert } from '../../../base/index.js';
import type { BackendRow } from '../../index.js';
import { type BatchStruct, type LlamaApi, type Pointer, viewNative } from './LlamaApi.js';

/** One `llama_batch` whose native arrays are written through typed arrays: filling a row costs no native call. */
export class NativeBatch {
  readonly rowsMax: number;
  readonly #api: LlamaApi;
  readonly #struct: BatchStruct;
  readonly #tokens: Int32Array;
  readonly #positions: Int32Array;
  readonly #sequences: readonly Int32Array[];
  readonly #wanted: Int8Array;
  #rows = 0;

  constructor(api: LlamaApi, rowsMax: number) {
    this.#api = api;
    this.rowsMax = rowsMax;
    this.#struct = api.batchInit(rowsMax, 0, 1);
    const ints = (address: Pointer) => new Int32Array(viewNative(address, rowsMax * 4));
    this.#tokens = ints(this.#struct.token);
    this.#positions = ints(this.#struct.pos);
    ints(this.#struct.n_seq_id).fill(1);
    this.#wanted = new Int8Array(viewNative(this.#struct.logits, rowsMax));
    const cells = new BigUint64Array(viewNative(this.#struct.seq_id, rowsMax * 8));
    this.#sequences = Array.from(cells.slice(), (cell) => new Int32Array(viewNative(cell, 4)));
  }

  clear(): void {
    this.#rows = 0;
  }

  add({ token, position, sequence, wantLogits }: BackendRow): void {
    const row = this.#rows++;
    assert(row < this.rowsMax, 'a batch has room for its rows', { rowsMax: this.rowsMax });
    this.#tokens[row] = token;
    this.#positions[row] = position;
    (this.#sequences[row] as Int32Array)[0] = sequence;
    this.#wanted[row] = wantLogits ? 1 : 0;
  }

  /** Runs the rows as one call; the library's result: 0 = done. */
  decode(context: Pointer): number {
    this.#struct.n_tokens = this.#rows;
    return this.#api.decode(context, this.#struct);
  }

  /** The same for a model without a cache. */
  encode(context: Pointer): number {
    this.#struct.n_tokens = this.#rows;
    return this.#api.encode(context, this.#struct);
  }

  free(): void {
    this.#api.batchFree(this.#struct);
  }
}
