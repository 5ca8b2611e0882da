import { assert } from '../../../base/index.js';
import { type AdapterIdentity, adapterKey, type BackendFacts, type BackendRow, platformError, type StepBackend } from '../../index.js';
import { type AdapterBase, checkAdapterOrigin } from './checkAdapterOrigin.js';
import { checkModelFile } from './checkModelFile.js';
import { type Pointer, viewNative } from './LlamaApi.js';
import { type LlamaModel, loadLlamaModel, type ModelFile } from './LlamaModel.js';
import { LlamaTokenizer } from './LlamaTokenizer.js';
import { NativeBatch } from './NativeBatch.js';
import type { GgufContents } from './readGguf.js';
import { readTemplateFacts } from './readTemplateFacts.js';

export interface LlamaStepOptions {
  readonly model: ModelFile;
  readonly sequences: number;
  /** Tokens a sequence; a multiple of 256, as the library rounds to it. */
  readonly contextTokens: number;
  readonly threads: number;
  /** Layers on a GPU; absent = none. Untested: no machine of the project has one. */
  readonly gpuLayers?: number;
  /** Hears which share of the model is read and loaded. */
  readonly onShare?: (share: number) => void;
}

// A piece of 256 rows is prefilled as fast as one of 512 and lets a cancelled request go sooner (rule R allows any multiple of 64).
const rowsMax = 256;

/** Beyond one a sequence: drafted tokens that a step verifies. */
const draftOutputs = 32;

const outputsOf = ({ sequences }: Pick<LlamaStepOptions, 'sequences'>): number => Math.min(rowsMax, sequences + draftOutputs);

/**
 * A chat model in llama.cpp on the CPU, set up so that a sequence's logits do not depend on what else is in the batch (R22, rule R):
 * a cache of its own for each sequence, flash attention, one thread for single rows. Checks every id before the native call.
 */
export class LlamaStepBackend implements StepBackend {
  readonly facts: BackendFacts;
  readonly #model: LlamaModel;
  readonly #tokenizer: LlamaTokenizer;
  readonly #context: Pointer;
  readonly #memory: Pointer;
  readonly #base: AdapterBase;
  readonly #batch: NativeBatch;
  /** Loaded files by digest. */
  readonly #adapters = new Map<string, Pointer>();
  /** Positions held per sequence: the next row of a sequence must continue there. */
  readonly #lengths: Int32Array;
  readonly #logitsViews = new Map<Pointer, Float32Array>();
  /** Sequences whose cells may hold what is no number: their newest row did not show that all is well. */
  readonly #unproven = new Set<number>();
  /** Sequences with a row that gave none, be it one that was drafted and is taken back: what is cut off, too, stays in its cells. */
  readonly #broken = new Set<number>();
  #activeAdapter: AdapterIdentity | null = null;
  #rowsOfLastDecode: readonly BackendRow[] = [];
  /** Logits of rows that were computed one by one, in the place of the library's own. */
  #copiedLogits: readonly Float32Array[] | undefined;

  private constructor(model: LlamaModel, context: Pointer, memory: Pointer, options: LlamaStepOptions) {
    this.#model = model;
    this.#context = context;
    this.#memory = memory;
    this.#base = options.model;
    this.#tokenizer = new LlamaTokenizer(model);
    this.#batch = new NativeBatch(model.api, rowsMax);
    this.#lengths = new Int32Array(options.sequences);
    this.facts = factsOf(model, this.#tokenizer, { ...options, contextTokens: model.api.contextTokensOfSequence(context) });
  }

  /** Loads the model and reserves its memory. Blocks for the load. Errors: MODEL_INVALID, ENGINE_UNAVAILABLE. */
  static open(options: LlamaStepOptions): LlamaStepBackend {
    assert(options.sequences >= 1 && options.sequences <= rowsMax, 'a decode step of all sequences is one call', {
      sequences: options.sequences,
    });
    const model = loadLlamaModel(options.model, {
      gpuLayers: options.gpuLayers ?? 0,
      ...(options.onShare !== undefined && { onShare: options.onShare }),
    });
    const context = openContext(model, options);
    const memory = context === null ? null : model.api.memory(context);
    if (context !== null && memory !== null) return new LlamaStepBackend(model, context, memory, options);
    model.api.freeModel(model.model);
    throw platformError('MODEL_INVALID', `model ${options.model.path}: no context of ${options.contextTokens} tokens can be made for it`);
  }

  tokenize(text: string, options: { readonly parseSpecial: boolean }): Int32Array {
    return this.#tokenizer.tokenize(text, { parseSpecial: options.parseSpecial, addSpecial: false });
  }

  tokenBytes(token: number): Uint8Array {
    return this.#tokenizer.tokenBytes(token);
  }

  decode(rows: readonly BackendRow[]): void {
    this.#checkRows(rows);
    this.#rowsOfLastDecode = [];
    this.#copiedLogits = undefined;
    for (const { sequence } of rows) this.#unproven.add(sequence);
    if (this.#activeAdapter !== null && isOneRowEach(rows)) this.#copiedLogits = rows.map((row) => this.#decodeAlone(row));
    else this.#decodeTogether(rows);
    this.#rowsOfLastDecode = rows;
    for (const [index, { sequence, wantLogits }] of rows.entries()) if (wantLogits) this.#noteLogits(sequence, this.#logitsOf(index));
  }

  logits(rowIndex: number): Float32Array {
    assert(this.#rowsOfLastDecode[rowIndex]?.wantLogits === true, 'logits are read of a row that wanted them', { rowIndex });
    const logits = this.#logitsOf(rowIndex);
    if (areNumbers(logits)) return logits;
    const by = this.#activeAdapter === null ? '' : ` with adapter ${adapterKey(this.#activeAdapter)}`;
    throw platformError('ENGINE_STEP_FAILED', `the model${by} computes no numbers for this prompt`);
  }

  /** A row sees all rows of its sequence: its logits are numbers only where those are. */
  #noteLogits(sequence: number, logits: Float32Array): void {
    if (areNumbers(logits)) this.#unproven.delete(sequence);
    else {
      this.#unproven.add(sequence);
      this.#broken.add(sequence);
    }
  }

  #logitsOf(rowIndex: number): Float32Array {
    return this.#copiedLogits?.[rowIndex] ?? this.#nativeLogits(rowIndex);
  }

  #decodeTogether(rows: readonly BackendRow[]): void {
    this.#batch.clear();
    for (const row of rows) this.#batch.add(row);
    const result = this.#batch.decode(this.#context);
    if (result !== 0) throw platformError('ENGINE_STEP_FAILED', `llama_decode returned ${result}`, { data: { result, rows: rows.length } });
    for (const { sequence, position } of rows) this.#lengths[sequence] = position + 1;
  }

  /**
   * An adapter's matrices are multiplied by one kernel for one row and by another, with other bits, for several: rows of different requests
   * would depend on their number (rule R). Four rows take about a fifth longer so.
   */
  #decodeAlone(row: BackendRow): Float32Array {
    this.#decodeTogether([row]);
    return row.wantLogits ? this.#nativeLogits(0).slice() : noLogits;
  }

  #nativeLogits(rowIndex: number): Float32Array {
    const address = this.#model.api.logitsOfRow(this.#context, rowIndex);
    assert(address !== null, 'a decoded row has logits', { rowIndex });
    return this.#logitsAt(address);
  }

  /** A view of native memory is costly to make, and the library gives the same few addresses again and again. */
  #logitsAt(address: Pointer): Float32Array {
    const known = this.#logitsViews.get(address);
    if (known !== undefined) return known;
    if (this.#logitsViews.size >= this.facts.outputsMax) this.#logitsViews.clear();
    const view = new Float32Array(viewNative(address, this.facts.vocabularySize * 4));
    this.#logitsViews.set(address, view);
    return view;
  }

  truncateSequence(sequence: number, fromPosition: number): void {
    this.#checkSequence(sequence);
    assert(Number.isInteger(fromPosition) && fromPosition >= 0, 'a position is a count', { fromPosition });
    const isSpoilt =
      this.#broken.delete(sequence) || (fromPosition === 0 && this.#unproven.delete(sequence) && !this.#holdsNumbers(sequence));
    const removed = this.#model.api.removeFromSequence(this.#memory, sequence, fromPosition, -1);
    if (!removed) throw platformError('ENGINE_STEP_FAILED', `sequence ${sequence} cannot be cut at ${fromPosition}`);
    this.#lengths[sequence] = Math.min(this.#lengths[sequence] as number, fromPosition);
    if (isSpoilt) this.#clearFreeCells();
  }

  #holdsNumbers(sequence: number): boolean {
    if (this.sequenceLength(sequence) === 0) return true;
    const state = this.exportSequence(sequence);
    return new Uint16Array(state.buffer, 0, state.length >> 1).every((half) => (half & halfExponent) !== halfExponent);
  }

  /**
   * The library masks the cells of nobody by adding to them and multiplying with zero, and leaves in them what they held: an infinity or
   * what is no number, of an adapter that leaves the range of the cells, would end up in the answers of those who get the sequence next.
   */
  #clearFreeCells(): void {
    const kept = Array.from(this.#lengths, (length, sequence) => ({ sequence, length }))
      .filter(({ length }) => length > 0)
      .map((held) => ({ ...held, state: this.exportSequence(held.sequence) }));
    this.#model.api.clearMemory(this.#memory, true);
    this.#lengths.fill(0);
    for (const { sequence, state, length } of kept) this.importSequence(sequence, state, length);
  }

  moveSequence(from: number, to: number): void {
    this.copySequence(from, to);
    this.truncateSequence(from, 0);
  }

  copySequence(from: number, to: number): void {
    this.#checkSequence(from);
    this.#checkSequence(to);
    assert(from !== to && this.#lengths[to] === 0, 'a sequence is copied to an empty id', { from, to });
    const length = this.#lengths[from] as number;
    // By way of bytes: the library's own copy waits for the next decode, and would then overwrite what was put into `to` since.
    if (length > 0) this.importSequence(to, this.exportSequence(from), length);
  }

  sequenceLength(sequence: number): number {
    this.#checkSequence(sequence);
    return this.#model.api.lastPositionOfSequence(this.#memory, sequence) + 1;
  }

  exportSequence(sequence: number): Uint8Array {
    this.#checkSequence(sequence);
    const { api } = this.#model;
    const state = new Uint8Array(Number(api.stateSize(this.#context, sequence)));
    const written = Number(api.getState(this.#context, state, state.length, sequence));
    if (written === state.length) return state;
    throw platformError('ENGINE_STEP_FAILED', `sequence ${sequence}: ${written} of ${state.length} bytes of its state were written`);
  }

  importSequence(sequence: number, state: Uint8Array, length: number): void {
    this.#checkSequence(sequence);
    assert(this.#lengths[sequence] === 0, 'a state is put into an empty sequence', { sequence });
    const read = state.length === 0 ? 0 : Number(this.#model.api.setState(this.#context, state, state.length, sequence));
    if (read === state.length && read > 0 && this.sequenceLength(sequence) === length) {
      this.#lengths[sequence] = length;
      this.#unproven.add(sequence);
      return;
    }
    this.#model.api.removeFromSequence(this.#memory, sequence, -1, -1);
    throw platformError('KV_STATE_INVALID', `sequence ${sequence} took ${read} of ${state.length} bytes of a state of ${length} tokens`);
  }

  useAdapter(adapter: AdapterIdentity | null): void {
    if (isSame(adapter, this.#activeAdapter)) return; // a change costs a new graph reservation, tens of milliseconds
    const { api } = this.#model;
    const file = adapter === null ? undefined : this.#adapters.get(adapter.digest);
    assert(adapter === null || file !== undefined, 'an adapter in use is loaded');
    const result =
      adapter !== null && file !== undefined
        ? api.setAdapters(this.#context, BigUint64Array.of(file), 1, Float32Array.of(adapter.scale))
        : api.setAdapters(this.#context, null, 0, null);
    if (result !== 0) throw platformError('ENGINE_STEP_FAILED', `switching the adapter returned ${result}`);
    this.#activeAdapter = adapter;
  }

  loadAdapter(adapter: { readonly path: string; readonly digest?: string }): { readonly digest: string } {
    const refuse = (reason: string, cause?: unknown) =>
      platformError('ADAPTER_INVALID', `adapter ${adapter.path}: ${reason}${hintFor(adapter.path)}`, { cause });
    const check = (facts: GgufContents): void => checkAdapterOrigin(facts, this.#base);
    const { digest, type } = checkModelFile(adapter.path, refuse, { check });
    if (type !== 'adapter') throw refuse(`it is a GGUF file of type ${type ?? 'model'}, no adapter`);
    if (adapter.digest !== undefined && adapter.digest !== digest) throw refuse(`its SHA-256 is ${digest}, expected ${adapter.digest}`);
    if (this.#adapters.has(digest)) return { digest };
    const pointer = this.#model.api.adapterInit(this.#model.model, adapter.path);
    if (pointer === null) throw refuse('it is not a LoRA adapter of this model');
    this.#adapters.set(digest, pointer);
    return { digest };
  }

  unloadAdapter(digest: string): void {
    const file = this.#adapters.get(digest);
    if (file === undefined) return;
    if (this.#activeAdapter?.digest === digest) this.useAdapter(null);
    this.#adapters.delete(digest);
    this.#model.api.adapterFree(file);
  }

  close(): void {
    const { api, model } = this.#model;
    this.#batch.free();
    api.freeContext(this.#context);
    for (const file of this.#adapters.values()) api.adapterFree(file);
    this.#adapters.clear();
    api.freeModel(model);
  }

  #checkSequence(sequence: number): void {
    const known = Number.isInteger(sequence) && sequence >= 0 && sequence < this.facts.sequencesMax;
    assert(known, 'a sequence id is in range', { sequence, sequencesMax: this.facts.sequencesMax });
  }

  #checkRows(rows: readonly BackendRow[]): void {
    assert(rows.length > 0 && rows.length <= rowsMax, 'a call has between one and rowsMax rows', { rows: rows.length, rowsMax });
    let sequence = Number.NEGATIVE_INFINITY;
    let next = 0;
    let wanted = 0;
    for (const row of rows) {
      this.#tokenizer.checkToken(row.token);
      assert(row.sequence >= sequence, 'rows are in ascending sequence order', { sequence: row.sequence });
      if (row.sequence !== sequence) {
        this.#checkSequence(row.sequence);
        sequence = row.sequence;
        next = this.#lengths[sequence] as number;
      }
      assert(row.position === next && next < this.facts.contextTokens, 'a row continues its sequence', { position: row.position, next });
      next++;
      if (row.wantLogits) wanted++;
    }
    assert(wanted <= this.facts.outputsMax, 'logits are wanted of at most so many rows', { wanted, outputsMax: this.facts.outputsMax });
  }
}

const noLogits = new Float32Array(0);

/** Several rows, each of another sequence: a decode step. */
const isOneRowEach = (rows: readonly BackendRow[]): boolean =>
  rows.length > 1 && rows.every(({ sequence }, place) => sequence !== rows[place - 1]?.sequence);

/** What is no number in the last layer's row is in all logits. */
const areNumbers = (logits: Float32Array): boolean => Number.isFinite(logits[0]);

/** Of 16-bit floats: all of these bits are set in infinities and in what is no number. A false alarm in the head of a state costs time only. */
const halfExponent = 0x7c00;

const hintFor = (path: string): string =>
  path.endsWith('.safetensors') ? ' (`ostraka adapter import` makes a GGUF file of a PEFT folder)' : '';

const isSame = (left: AdapterIdentity | null, right: AdapterIdentity | null): boolean =>
  left === right || (left !== null && right !== null && adapterKey(left) === adapterKey(right));

function openContext(model: LlamaModel, options: LlamaStepOptions): Pointer | null {
  const { api } = model;
  const usesGpu = (options.gpuLayers ?? 0) > 0;
  return api.newContext(model.model, {
    ...api.contextDefaults(),
    n_ctx: options.sequences * options.contextTokens,
    n_batch: rowsMax,
    n_ubatch: rowsMax,
    n_seq_max: options.sequences,
    n_outputs_max: outputsOf(options), // bounds the logits buffer: 196 kB a row for a vocabulary of 49152
    n_threads: 1,
    n_threads_batch: options.threads,
    kv_unified: false,
    offload_kqv: usesGpu,
    op_offload: usesGpu,
  });
}

function factsOf(model: LlamaModel, tokenizer: LlamaTokenizer, options: LlamaStepOptions): BackendFacts {
  const { api, vocabulary, vocabularySize } = model;
  return {
    ...readTemplateFacts(model, tokenizer),
    vocabularySize,
    sequencesMax: options.sequences,
    contextTokens: options.contextTokens,
    rowsMax,
    outputsMax: outputsOf(options),
    beginToken: api.beginToken(vocabulary),
    addsBeginToken: api.addsBeginToken(vocabulary),
    cutsAnywhere: api.slidingWindowTokens(model.model) === 0 && !api.isRecurrent(model.model) && !api.isHybrid(model.model),
    kvBytesPerToken: kvBytesPerToken(model),
    stateFacts: stateFactsOf(model, options),
  };
}

/** Settings of rope stand in the model's file, whose digest is compared too, and are not changed here; so do the tokenizer's lists. */
function stateFactsOf({ api, facts, vocabularySize }: LlamaModel, options: LlamaStepOptions): BackendFacts['stateFacts'] {
  const { rope_freq_base, rope_freq_scale, rope_scaling_type, type_k, type_v, flash_attn_type } = api.contextDefaults() as {
    readonly [name: string]: unknown;
  };
  return {
    library: api.release,
    processor: api.systemInfo().trim(),
    tokenizer: `${String(facts.metadata.get('tokenizer.ggml.model') ?? '')}/${vocabularySize}`,
    cacheTypes: `${type_k}/${type_v}`,
    rope: `${rope_scaling_type}/${rope_freq_base}/${rope_freq_scale}`,
    attention: String(flash_attn_type),
    contextTokens: String(options.contextTokens),
    streams: `${options.sequences > 1 ? 'own' : 'single'}`,
  };
}

/** Keys and values of f16, as the context is opened. */
function kvBytesPerToken({ api, model }: LlamaModel): number {
  const headSize = api.embeddingLength(model) / Math.max(1, api.heads(model));
  return Math.max(1, 2 * api.layers(model) * api.headsOfKeys(model) * headSize * 2);
}
