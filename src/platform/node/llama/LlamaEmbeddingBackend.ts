import { assert } from '../../../base/index.js';
import { type EmbeddingBackend, platformError } from '../../index.js';
import { type Pointer, viewNative } from './LlamaApi.js';
import { type LlamaModel, loadLlamaModel, type ModelFile } from './LlamaModel.js';
import { LlamaTokenizer } from './LlamaTokenizer.js';
import { NativeBatch } from './NativeBatch.js';

export interface LlamaEmbeddingOptions {
  readonly model: ModelFile;
  readonly threads: number;
  /** Hears which share of the model is read and loaded. */
  readonly onShare?: (share: number) => void;
}

// Attention of a pack is quadratic in its rows, while below 64 rows flash attention takes a slow kernel: 64 to 128 rows are the cheapest.
const packTokensMax = 128;
const flashRowsMin = 64;
const textTokensLimit = 512;
const poolingMean = 1;
const flashOff = 0;
const flashAuto = -1;

/**
 * An encoder model in llama.cpp: mean pooling, unit-length vectors, several texts a pass. Two contexts share the weights: with flash
 * attention for packs of 64 rows and more, without for fewer. Both agree to less than 1e-6 cosine distance (R23).
 */
export class LlamaEmbeddingBackend implements EmbeddingBackend {
  readonly facts: { readonly dimensions: number; readonly textTokensMax: number; readonly packTokensMax: number };
  readonly #model: LlamaModel;
  readonly #tokenizer: LlamaTokenizer;
  readonly #batch: NativeBatch;
  readonly #flashContext: Pointer;
  readonly #shortContext: Pointer;

  private constructor(model: LlamaModel, contexts: { readonly flash: Pointer; readonly short: Pointer }) {
    const { api } = model;
    this.#model = model;
    this.#tokenizer = new LlamaTokenizer(model);
    this.#flashContext = contexts.flash;
    this.#shortContext = contexts.short;
    const textTokensMax = textTokensMaxOf(model);
    this.#batch = new NativeBatch(api, Math.max(textTokensMax, packTokensMax));
    this.facts = { dimensions: api.embeddingLength(model.model), textTokensMax, packTokensMax };
  }

  /** Loads the model. Errors: MODEL_INVALID, ENGINE_UNAVAILABLE. */
  static open(options: LlamaEmbeddingOptions): LlamaEmbeddingBackend {
    const model = loadLlamaModel(options.model, options.onShare === undefined ? {} : { onShare: options.onShare });
    const { api } = model;
    const rowsMax = Math.max(textTokensMaxOf(model), packTokensMax);
    const flash = openContext(model, { rowsMax, flashType: flashAuto, threads: options.threads });
    const short = openContext(model, { rowsMax: flashRowsMin, flashType: flashOff, threads: options.threads });
    if (flash !== null && short !== null) return new LlamaEmbeddingBackend(model, { flash, short });
    for (const context of [flash, short]) if (context !== null) api.freeContext(context);
    api.freeModel(model.model);
    throw platformError('MODEL_INVALID', `model ${options.model.path}: no embedding context can be made for it`);
  }

  tokenize(text: string): Int32Array {
    return this.#tokenizer.tokenize(text, { parseSpecial: false, addSpecial: true });
  }

  embed(texts: readonly Int32Array[]): Float32Array[] {
    const rows = this.#fillBatch(texts);
    const context = rows < flashRowsMin ? this.#shortContext : this.#flashContext;
    const result = this.#batch.encode(context);
    if (result !== 0) throw platformError('ENGINE_STEP_FAILED', `llama_encode returned ${result}`, { data: { result, rows } });
    return texts.map((_, sequence) => this.#vectorOf(context, sequence));
  }

  close(): void {
    const { api, model } = this.#model;
    this.#batch.free();
    api.freeContext(this.#flashContext);
    api.freeContext(this.#shortContext);
    api.freeModel(model);
  }

  /** Checks what would abort the process: empty texts, rows beyond the context, unknown tokens. */
  #fillBatch(texts: readonly Int32Array[]): number {
    const rows = texts.reduce((total, text) => total + text.length, 0);
    const rowsMax = texts.length === 1 ? this.facts.textTokensMax : packTokensMax;
    assert(rows > 0 && rows <= rowsMax, 'a pack fits into one pass', { rows, rowsMax, texts: texts.length });
    this.#batch.clear();
    for (const [sequence, text] of texts.entries()) {
      assert(text.length > 0, 'a text has at least its begin and end tokens');
      for (const [position, token] of text.entries()) {
        this.#tokenizer.checkToken(token);
        this.#batch.add({ token, position, sequence, wantLogits: true });
      }
    }
    return rows;
  }

  #vectorOf(context: Pointer, sequence: number): Float32Array {
    const address = this.#model.api.embeddingOfSequence(context, sequence);
    assert(address !== null, 'an encoded text has a vector', { sequence });
    return normalised(new Float32Array(viewNative(address, this.facts.dimensions * 4)));
  }
}

function textTokensMaxOf(model: LlamaModel): number {
  return Math.min(textTokensLimit, model.api.contextTokensOfTraining(model.model));
}

function openContext(
  model: LlamaModel,
  options: { readonly rowsMax: number; readonly flashType: number; readonly threads: number },
): Pointer | null {
  const { api } = model;
  return api.newContext(model.model, {
    ...api.contextDefaults(),
    n_ctx: options.rowsMax,
    n_batch: options.rowsMax,
    n_ubatch: options.rowsMax,
    n_seq_max: Math.min(options.rowsMax, packTokensMax),
    n_threads: options.threads,
    n_threads_batch: options.threads,
    pooling_type: poolingMean,
    flash_attn_type: options.flashType,
    embeddings: true,
    kv_unified: true,
    offload_kqv: false,
    op_offload: false,
  });
}

function normalised(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  assert(Number.isFinite(length) && length > 0, 'a vector has a length');
  return vector.map((value) => value / length);
}
