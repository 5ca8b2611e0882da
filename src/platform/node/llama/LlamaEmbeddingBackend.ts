import { assert } from '../../../base/index.js';
import { type EmbeddingBackend, type EmbeddingFacts, platformError } from '../../index.js';
import { choosePooling, type Pooling, poolingTypes } from './choosePooling.js';
import { type Pointer, viewNative } from './LlamaApi.js';
import { type LlamaModel, loadLlamaModel, type ModelFile } from './LlamaModel.js';
import { LlamaTokenizer } from './LlamaTokenizer.js';
import { NativeBatch } from './NativeBatch.js';
import { readEmbeddingMetadata } from './readEmbeddingMetadata.js';

export interface LlamaEmbeddingOptions {
  readonly model: ModelFile & { readonly pooling?: Exclude<Pooling, 'rank'> | undefined };
  readonly threads: number;
  /** Hears which share of the model is read and loaded. */
  readonly onShare?: (share: number) => void;
}

interface EmbeddingContext {
  readonly pointer: Pointer;
  /** Of a decoder: what it has read, which is forgotten between two passes. */
  readonly memory: Pointer | null;
}

interface Contexts {
  /** For packs, and for one long text. */
  readonly pack: EmbeddingContext;
  readonly short: EmbeddingContext;
}

// Attention of a pack is quadratic in its rows, while below 64 rows flash attention takes a slow kernel: 64 to 128 rows are the cheapest.
const packTokensMax = 128;
const flashRowsMin = 64;
const textTokensLimit = 512;
const flashOff = 0;
const flashAuto = -1;

/**
 * An encoder or decoder model in llama.cpp that gives vectors, or a cross-encoder that gives scores: several texts a pass. Two contexts
 * share the weights: for packs of 64 rows and more, with flash attention where the model is an encoder, and without it for fewer. Both agree
 * to less than 1e-6 cosine distance (R23).
 */
export class LlamaEmbeddingBackend implements EmbeddingBackend {
  readonly facts: EmbeddingFacts;
  readonly #model: LlamaModel;
  readonly #tokenizer: LlamaTokenizer;
  readonly #batch: NativeBatch;
  readonly #contexts: Contexts;
  readonly #isEncoder: boolean;

  private constructor(
    model: LlamaModel,
    opened: { readonly contexts: Contexts; readonly pooling: Pooling; readonly dimensionsShorter: readonly number[] },
  ) {
    const { contexts } = opened;
    this.#model = model;
    this.#tokenizer = new LlamaTokenizer(model);
    this.#contexts = contexts;
    this.#isEncoder = contexts.pack.memory === null || model.api.hasEncoder(model.model);
    this.#batch = new NativeBatch(model.api, rowsMaxOf(model));
    this.facts = factsOf(model, this.#tokenizer, opened);
  }

  /** Loads the model. Errors: MODEL_INVALID, ENGINE_UNAVAILABLE. */
  static open({ model: file, threads, onShare }: LlamaEmbeddingOptions): LlamaEmbeddingBackend {
    const model = loadLlamaModel(file, onShare === undefined ? {} : { onShare });
    const refuse = (reason: string): never => {
      model.api.freeModel(model.model);
      throw platformError('MODEL_INVALID', `model ${file.path}: ${reason}`);
    };
    const metadata = readEmbeddingMetadata(model.facts);
    const isCausal = metadata.isCausal && !model.api.hasEncoder(model.model);
    const pooling = choosePooling({ asked: file.pooling, stated: metadata.poolingType, isCausal });
    const classes = model.api.classes(model.model);
    // More classes than one tell what a text is, not how well it fits; a decoder is asked in words, which its makers' template holds.
    if (pooling === 'rank' && classes !== 1) return refuse(`it sorts texts into ${classes} classes; a cross-encoder has one`);
    if (pooling === 'rank' && isCausal) return refuse('it ranks as a decoder; only encoders can');
    // Where later rows see earlier ones only, flash attention rounds otherwise than the short texts' kernel, up to 1.3e-6 apart.
    const pack = openContext(model, { rowsMax: rowsMaxOf(model), flashType: isCausal ? flashOff : flashAuto, threads, pooling });
    const short = openContext(model, { rowsMax: flashRowsMin, flashType: flashOff, threads, pooling });
    if (pack !== undefined && short !== undefined) {
      return new LlamaEmbeddingBackend(model, { contexts: { pack, short }, pooling, dimensionsShorter: metadata.dimensionsShorter });
    }
    for (const context of [pack, short]) if (context !== undefined) model.api.freeContext(context.pointer);
    return refuse('no embedding context can be made for it');
  }

  tokenize(text: string): Int32Array {
    const tokens = this.#tokenizer.tokenize(text, { parseSpecial: false, addSpecial: true });
    if (tokens.length > 0) return tokens;
    // A decoder may add nothing to nothing; a text has a row nevertheless.
    const { api, vocabulary } = this.#model;
    return Int32Array.of(Math.max(0, api.endToken(vocabulary)));
  }

  embed(texts: readonly Int32Array[]): Float32Array[] {
    const rows = this.#fillBatch(texts);
    const context = rows < flashRowsMin ? this.#contexts.short : this.#contexts.pack;
    const result = this.#pass(context);
    if (result !== 0) throw platformError('ENGINE_STEP_FAILED', `the embedding pass returned ${result}`, { data: { result, rows } });
    return texts.map((_, sequence) => this.#resultOf(context, sequence));
  }

  close(): void {
    const { api, model } = this.#model;
    this.#batch.free();
    for (const { pointer } of Object.values(this.#contexts)) api.freeContext(pointer);
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

  #pass({ pointer, memory }: EmbeddingContext): number {
    if (this.#isEncoder) return this.#batch.encode(pointer);
    assert(memory !== null, 'a decoder has a memory');
    this.#model.api.clearMemory(memory, false);
    return this.#batch.decode(pointer);
  }

  #resultOf({ pointer }: EmbeddingContext, sequence: number): Float32Array {
    const address = this.#model.api.embeddingOfSequence(pointer, sequence);
    assert(address !== null, 'a text that was read has a result', { sequence });
    const numbers = this.facts.gives === 'score' ? 1 : this.facts.dimensions;
    return new Float32Array(viewNative(address, numbers * 4)).slice(); // the memory is the next pass's
  }
}

const textTokensMaxOf = ({ api, model }: LlamaModel): number => Math.min(textTokensLimit, api.contextTokensOfTraining(model));

/** A multiple of the sequences: the library reserves a graph of as many rows for each, and dies of one that does not come out even. */
const rowsMaxOf = (model: LlamaModel): number => Math.ceil(textTokensMaxOf(model) / packTokensMax) * packTokensMax;

function factsOf(
  loaded: LlamaModel,
  tokenizer: LlamaTokenizer,
  { pooling, dimensionsShorter }: { readonly pooling: Pooling; readonly dimensionsShorter: readonly number[] },
): EmbeddingFacts {
  const { api, model, vocabulary, vocabularySize } = loaded;
  const around = Array.from(tokenizer.tokenize('', { parseSpecial: false, addSpecial: true }));
  const beginCount = api.addsBeginToken(vocabulary) ? 1 : 0;
  return {
    gives: pooling === 'rank' ? 'score' : 'vector',
    dimensions: api.embeddingLengthOut(model),
    dimensionsShorter,
    textTokensMax: textTokensMaxOf(loaded),
    packTokensMax,
    vocabularySize,
    beginTokens: around.slice(0, beginCount),
    endTokens: around.slice(beginCount),
    separatorTokens: separatorsOf(loaded),
  };
}

/** Some models end the first text and then mark the border, others do one of the two. */
const separatorsOf = ({ api, vocabulary }: LlamaModel): readonly number[] => [
  ...(api.addsEndToken(vocabulary) ? [api.endToken(vocabulary)] : []),
  ...(api.addsSeparatorToken(vocabulary) ? [api.separatorToken(vocabulary)] : []),
];

function openContext(
  model: LlamaModel,
  options: { readonly rowsMax: number; readonly flashType: number; readonly threads: number; readonly pooling: Pooling },
): EmbeddingContext | undefined {
  const { api } = model;
  const pointer = api.newContext(model.model, {
    ...api.contextDefaults(),
    n_ctx: options.rowsMax,
    n_batch: options.rowsMax,
    n_ubatch: options.rowsMax,
    n_seq_max: Math.min(options.rowsMax, packTokensMax),
    n_threads: options.threads,
    n_threads_batch: options.threads,
    pooling_type: poolingTypes[options.pooling],
    flash_attn_type: options.flashType,
    embeddings: true,
    kv_unified: true,
    offload_kqv: false,
    op_offload: false,
  });
  return pointer === null ? undefined : { pointer, memory: api.memory(pointer) };
}
