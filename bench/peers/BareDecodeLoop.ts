import { assert } from '../../src/base/index.js';
import { type LlamaApi, openLlamaApi, type Pointer, viewNative } from '../../src/platform/node/llama/LlamaApi.js';

const batchRows = 256;

/**
 * The least that can be done with llama.cpp through FFI: prefill each prompt in one call, then one call a step for all sequences, the
 * largest logit in JavaScript. No checks, no queue, no text, no events, no end: what an engine on the same library is measured against.
 */
export class BareDecodeLoop {
  readonly #api: LlamaApi;
  readonly #model: Pointer;
  readonly #context: Pointer;
  readonly #memory: Pointer;
  readonly #vocabularySize: number;
  readonly #batch: ReturnType<LlamaApi['batchInit']>;
  readonly #token: Int32Array;
  readonly #position: Int32Array;
  readonly #wanted: Int8Array;
  readonly #sequence: readonly Int32Array[];

  constructor(options: { readonly modelPath: string; readonly sequences: number; readonly contextTokens: number }) {
    const api = openLlamaApi();
    this.#api = api;
    this.#model = expectPointer(api.loadModel(options.modelPath, { ...api.modelDefaults(), n_gpu_layers: 0 }));
    const params = {
      ...api.contextDefaults(),
      n_batch: batchRows,
      n_ubatch: batchRows,
      n_threads: 1,
      n_threads_batch: 1,
      kv_unified: false,
    };
    const bounds = { n_ctx: options.sequences * options.contextTokens, n_seq_max: options.sequences, n_outputs_max: options.sequences };
    this.#context = expectPointer(api.newContext(this.#model, { ...params, ...bounds }));
    this.#memory = expectPointer(api.memory(this.#context));
    this.#vocabularySize = api.vocabularySize(api.vocabulary(this.#model));
    this.#batch = api.batchInit(batchRows, 0, 1);
    this.#token = new Int32Array(viewNative(this.#batch.token, batchRows * 4));
    this.#position = new Int32Array(viewNative(this.#batch.pos, batchRows * 4));
    this.#wanted = new Int8Array(viewNative(this.#batch.logits, batchRows));
    new Int32Array(viewNative(this.#batch.n_seq_id, batchRows * 4)).fill(1);
    const cells = new BigUint64Array(viewNative(this.#batch.seq_id, batchRows * 8)).slice();
    this.#sequence = Array.from(cells, (cell) => new Int32Array(viewNative(cell, 4)));
  }

  /** Generates `tokens` tokens for each prompt, all at once, greedily. Prompts: at most 256 tokens each. */
  run(prompts: readonly Int32Array[], tokens: number): void {
    const newest = prompts.map((prompt, sequence) => this.#prefill(prompt, sequence));
    for (let step = 1; step < tokens; step++) {
      for (const [row, prompt] of prompts.entries()) this.#setRow(row, newest[row] as number, prompt.length + step - 1, row, true);
      this.#decode(prompts.length);
      for (let row = 0; row < prompts.length; row++) newest[row] = this.#largest(row);
    }
    for (let sequence = 0; sequence < prompts.length; sequence++) this.#api.removeFromSequence(this.#memory, sequence, 0, -1);
  }

  close(): void {
    this.#api.batchFree(this.#batch);
    this.#api.freeContext(this.#context);
    this.#api.freeModel(this.#model);
  }

  #prefill(prompt: Int32Array, sequence: number): number {
    for (const [position, token] of prompt.entries()) this.#setRow(position, token, position, sequence, position === prompt.length - 1);
    this.#decode(prompt.length);
    return this.#largest(prompt.length - 1);
  }

  #setRow(row: number, token: number, position: number, sequence: number, wanted: boolean): void {
    this.#token[row] = token;
    this.#position[row] = position;
    (this.#sequence[row] as Int32Array)[0] = sequence;
    this.#wanted[row] = wanted ? 1 : 0;
  }

  #decode(rows: number): void {
    this.#batch.n_tokens = rows;
    assert(this.#api.decode(this.#context, this.#batch) === 0, 'the peer decodes');
  }

  #largest(row: number): number {
    const logits = new Float32Array(viewNative(expectPointer(this.#api.logitsOfRow(this.#context, row)), this.#vocabularySize * 4));
    let best = 0;
    let bestLogit = logits[0] as number;
    for (let token = 1; token < logits.length; token++) {
      const logit = logits[token] as number;
      if (logit > bestLogit) {
        best = token;
        bestLogit = logit;
      }
    }
    return best;
  }
}

function expectPointer(pointer: Pointer | null): Pointer {
  assert(pointer !== null, 'the library gives what is asked for');
  return pointer;
}
