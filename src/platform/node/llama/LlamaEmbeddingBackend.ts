import { assert } from '../../../base/index.js';
import { type EmbeddingBackend, type EmbeddingFacts, longestTextDefault, platformError, type TextPiece } from '../../index.js';
import { choosePooling, type Pooling, poolingTypes } from './choosePooling.js';
import { type Pointer, viewNative } from './LlamaApi.js';
import { type LlamaModel, loadLlamaModel, type ModelFile } from './LlamaModel.js';
import { LlamaTokenizer } from './LlamaTokenizer.js';
import { NativeBatch } from './NativeBatch.js';
import { PooledPieces } from './PooledPieces.js';
import { readEmbeddingMetadata } from './readEmbeddingMetadata.js';

export interface LlamaEmbeddingOptions {
  readonly model: ModelFile & { readonly pooling?: Exclude<Pooling, 'rank'> | undefined; readonly textTokensMax?: number | undefined };
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
  /** For packs, and for one text longer than `short` takes. */
  readonly pack: EmbeddingContext;
  readonly short: EmbeddingContext;
  /** Of a decoder: for the text that is read in pieces, what it has read of it kept between them. */
  readonly long?: EmbeddingContext | undefined;
}

interface Opened {
  readonly contexts: Contexts;
  readonly pooling: Pooling;
  readonly textTokensMax: number;
  readonly dimensionsShorter: readonly number[];
}

// Attention of a pack is quadratic in its rows, while below 64 rows flash attention takes a slow kernel: 64 to 128 rows are the cheapest.
const packTokensMax = 128;
const flashRowsMin = 64;
const flashOff = 0;
const flashAuto = -1;

/**
 * An encoder or decoder model in llama.cpp that gives vectors, or a cross-encoder that gives scores: several texts a pass. Two contexts
 * share the weights: for packs of 64 rows and more, with flash attention where the model is an encoder, and without it for fewer. Both agree
 * to less than 1e-6 cosine distance (R23). An encoder sees a text as a whole: the pass of its longest one needs buffers of as many rows. A
 * decoder reads a long text piece by piece, in a third context that keeps what it has read.
 */
export class LlamaEmbeddingBackend implements EmbeddingBackend {
  readonly facts: EmbeddingFacts;
  readonly #model: LlamaModel;
  readonly #tokenizer: LlamaTokenizer;
  readonly #batch: NativeBatch;
  readonly #contexts: Contexts;
  readonly #isEncoder: boolean;
  readonly #pooling: Pooling;
  #pieces: PooledPieces | undefined;

  private constructor(model: LlamaModel, opened: Opened) {
    const { contexts, pooling } = opened;
    this.#model = model;
    this.#tokenizer = new LlamaTokenizer(model);
    this.#contexts = contexts;
    this.#pooling = pooling;
    this.#isEncoder = contexts.pack.memory === null || model.api.hasEncoder(model.model);
    this.facts = factsOf(model, this.#tokenizer, opened);
    this.#batch = new NativeBatch(model.api, Math.max(this.facts.passTokensMax, packTokensMax));
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
    // Where later rows see earlier ones only, flash attention rounds otherwise than the short texts' kernel, up to 1.3e-6 apart in a short
    // text and 4e-5 in one of several pieces; it would make a text of 1,500 tokens a quarter faster.
    const wanted = file.textTokensMax ?? longestTextDefault[isCausal ? 'decoder' : 'encoder'];
    const textTokensMax = Math.min(wanted, model.api.contextTokensOfTraining(model.model));
    const common = { threads, pooling };
    const short = openContext(model, { ...common, rowsMax: flashRowsMin, flashType: flashOff });
    const needsLong = isCausal && textTokensMax > packTokensMax && short !== undefined && short.memory !== null;
    const rowsMax = rowsMaxOf(needsLong ? packTokensMax : textTokensMax);
    const pack = openContext(model, { ...common, rowsMax, flashType: isCausal ? flashOff : flashAuto });
    const long = needsLong
      ? openContext(model, { ...common, rowsMax: packTokensMax, cells: textTokensMax, flashType: flashOff })
      : undefined;
    if (pack !== undefined && short !== undefined && (long !== undefined || !needsLong)) {
      const { dimensionsShorter } = metadata;
      return new LlamaEmbeddingBackend(model, { contexts: { pack, short, long }, pooling, textTokensMax, dimensionsShorter });
    }
    for (const context of [pack, short, long]) if (context !== undefined) model.api.freeContext(context.pointer);
    return refuse(`no embedding context can be made for it, of ${textTokensMax} tokens`);
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
    if (context.memory !== null) this.#model.api.clearMemory(context.memory, false);
    this.#pass(context, rows);
    return texts.map((_, sequence) => this.#resultOf(context, sequence));
  }

  readPiece(text: Int32Array, { from, to }: TextPiece): Float32Array | undefined {
    const { long } = this.#contexts;
    assert(long !== undefined && this.#pooling !== 'rank', 'a decoder that gives vectors reads in pieces');
    if (from === 0) {
      this.#pieces = new PooledPieces(this.#pooling);
      this.#model.api.clearMemory(long.memory as Pointer, false);
    }
    const pieces = this.#pieces;
    assert(pieces !== undefined && from === pieces.rows, 'pieces follow each other', { from });
    assert(to > from && to <= text.length && text.length <= this.facts.textTokensMax, 'a piece is of its text', { from, to });
    this.#pieces = undefined; // where the pass fails, what was read is of no use
    this.#batch.clear();
    this.#addRows(text.subarray(from, to), { from, sequence: 0 });
    this.#pass(long, to - from);
    pieces.add(this.#resultOf(long, 0), to - from);
    if (to === text.length) return pieces.vector;
    this.#pieces = pieces;
    return undefined;
  }

  close(): void {
    const { api, model } = this.#model;
    this.#batch.free();
    for (const context of Object.values(this.#contexts) as Contexts[keyof Contexts][]) if (context) api.freeContext(context.pointer);
    api.freeModel(model);
  }

  /** Checks what would abort the process: empty texts, rows beyond the context, unknown tokens. */
  #fillBatch(texts: readonly Int32Array[]): number {
    const rows = texts.reduce((total, text) => total + text.length, 0);
    const rowsMax = texts.length === 1 ? this.facts.passTokensMax : packTokensMax;
    assert(rows > 0 && rows <= rowsMax, 'a pack fits into one pass', { rows, rowsMax, texts: texts.length });
    this.#batch.clear();
    for (const [sequence, text] of texts.entries()) {
      assert(text.length > 0, 'a text has at least its begin and end tokens');
      this.#addRows(text, { from: 0, sequence });
    }
    return rows;
  }

  #addRows(tokens: Int32Array, { from, sequence }: { readonly from: number; readonly sequence: number }): void {
    for (const [place, token] of tokens.entries()) {
      this.#tokenizer.checkToken(token);
      this.#batch.add({ token, position: from + place, sequence, wantLogits: true });
    }
  }

  #pass({ pointer }: EmbeddingContext, rows: number): void {
    const result = this.#isEncoder ? this.#batch.encode(pointer) : this.#batch.decode(pointer);
    if (result !== 0) throw platformError('ENGINE_STEP_FAILED', `the embedding pass returned ${result}`, { data: { result, rows } });
  }

  #resultOf({ pointer }: EmbeddingContext, sequence: number): Float32Array {
    const address = this.#model.api.embeddingOfSequence(pointer, sequence);
    assert(address !== null, 'a text that was read has a result', { sequence });
    const numbers = this.facts.gives === 'score' ? 1 : this.facts.dimensions;
    return new Float32Array(viewNative(address, numbers * 4)).slice(); // the memory is the next pass's
  }
}

/** A multiple of the sequences: the library reserves a graph of as many rows for each, and dies of one that does not come out even. */
const rowsMaxOf = (tokens: number): number => Math.ceil(tokens / packTokensMax) * packTokensMax;

function factsOf(
  loaded: LlamaModel,
  tokenizer: LlamaTokenizer,
  { contexts, pooling, textTokensMax, dimensionsShorter }: Opened,
): EmbeddingFacts {
  const { api, model, vocabulary, vocabularySize } = loaded;
  const around = Array.from(tokenizer.tokenize('', { parseSpecial: false, addSpecial: true }));
  const beginCount = api.addsBeginToken(vocabulary) ? 1 : 0;
  return {
    gives: pooling === 'rank' ? 'score' : 'vector',
    dimensions: api.embeddingLengthOut(model),
    dimensionsShorter,
    textTokensMax,
    passTokensMax: contexts.long === undefined ? textTokensMax : packTokensMax,
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
  options: {
    readonly rowsMax: number;
    /** Of a context that keeps one text between its passes: as many cells. */
    readonly cells?: number;
    readonly flashType: number;
    readonly threads: number;
    readonly pooling: Pooling;
  },
): EmbeddingContext | undefined {
  const { api } = model;
  const { rowsMax, cells } = options;
  const pointer = api.newContext(model.model, {
    ...api.contextDefaults(),
    n_ctx: cells ?? rowsMax,
    n_batch: rowsMax,
    n_ubatch: rowsMax,
    n_seq_max: cells === undefined ? Math.min(rowsMax, packTokensMax) : 1,
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
