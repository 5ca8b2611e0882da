import koffi, { type LibraryHandle, type TypeObject } from 'koffi';
import { assert } from '../../../base/index.js';
import { locateLlamaLibraries } from './locateLlamaLibraries.js';

/** An address in native memory; never zero. */
export type Pointer = bigint;
type MaybePointer = bigint | null;

/** `llama_model_params`, the members that are set here. */
interface ModelParams {
  n_gpu_layers: number;
  [other: string]: unknown;
}

/** `llama_context_params`, the members that are set here. */
interface ContextParams {
  n_ctx: number;
  n_batch: number;
  n_ubatch: number;
  n_seq_max: number;
  n_outputs_max: number;
  n_threads: number;
  n_threads_batch: number;
  pooling_type: number;
  flash_attn_type: number;
  embeddings: boolean;
  offload_kqv: boolean;
  op_offload: boolean;
  kv_unified: boolean;
  [other: string]: unknown;
}

/** `llama_batch`: addresses of arrays that llama.cpp allocated. */
export interface BatchStruct {
  n_tokens: number;
  readonly token: Pointer;
  readonly pos: Pointer;
  readonly n_seq_id: Pointer;
  readonly seq_id: Pointer;
  readonly logits: Pointer;
}

const modelParams = koffi.struct({
  devices: 'void*',
  tensor_buft_overrides: 'void*',
  n_gpu_layers: 'int32',
  split_mode: 'int',
  load_mode: 'int',
  lazy_mode: 'int',
  main_gpu: 'int32',
  tensor_split: 'void*',
  progress_callback: 'void*',
  progress_user_data: 'void*',
  kv_overrides: 'void*',
  vocab_only: 'bool',
  check_tensors: 'bool',
  use_extra_bufts: 'bool',
  no_host: 'bool',
  no_alloc: 'bool',
  load_mtp: 'bool',
});

const contextParams = koffi.struct({
  n_ctx: 'uint32',
  n_batch: 'uint32',
  n_ubatch: 'uint32',
  n_seq_max: 'uint32',
  n_rs_seq: 'uint32',
  n_outputs_max: 'uint32',
  n_outputs_max_per_seq: 'uint32',
  n_threads: 'int32',
  n_threads_batch: 'int32',
  ctx_type: 'int',
  rope_scaling_type: 'int',
  pooling_type: 'int',
  attention_type: 'int',
  flash_attn_type: 'int',
  rope_freq_base: 'float',
  rope_freq_scale: 'float',
  yarn_ext_factor: 'float',
  yarn_attn_factor: 'float',
  yarn_beta_fast: 'float',
  yarn_beta_slow: 'float',
  yarn_orig_ctx: 'uint32',
  defrag_thold: 'float',
  cb_eval: 'void*',
  cb_eval_user_data: 'void*',
  type_k: 'int',
  type_v: 'int',
  abort_callback: 'void*',
  abort_callback_data: 'void*',
  embeddings: 'bool',
  offload_kqv: 'bool',
  no_perf: 'bool',
  op_offload: 'bool',
  swa_full: 'bool',
  kv_unified: 'bool',
  samplers: 'void*',
  n_samplers: 'size_t',
  ctx_other: 'void*',
});

/** `llama_model_quantize_params`, the members that are set here. */
interface QuantizeParams {
  nthread: number;
  ftype: number;
  allow_requantize: boolean;
  [other: string]: unknown;
}

const quantizeParams = koffi.struct({
  nthread: 'int32',
  ftype: 'int',
  output_tensor_type: 'int',
  token_embedding_type: 'int',
  allow_requantize: 'bool',
  quantize_output_tensor: 'bool',
  only_copy: 'bool',
  pure: 'bool',
  keep_split: 'bool',
  dry_run: 'bool',
  imatrix: 'void*',
  kv_overrides: 'void*',
  tensor_type_overrides: 'void*',
  prune_layers: 'void*',
  max_buffer_size: 'size_t',
});

const batchStruct = koffi.struct({
  n_tokens: 'int32',
  token: 'void*',
  embd: 'void*',
  pos: 'void*',
  n_seq_id: 'void*',
  seq_id: 'void*',
  logits: 'void*',
});

/**
 * llama.cpp's C API as functions, one name each as in `llama.h` without the prefix. All are synchronous and none checks its input:
 * an id out of range ends the process, so callers check first.
 */
export interface LlamaApi {
  readonly modelDefaults: () => ModelParams;
  readonly contextDefaults: () => ContextParams;
  readonly loadModel: (path: string, params: ModelParams) => MaybePointer;
  readonly freeModel: (model: Pointer) => void;
  readonly newContext: (model: Pointer, params: ContextParams) => MaybePointer;
  readonly freeContext: (context: Pointer) => void;
  /** Package and version of the libraries. */
  readonly release: string;
  /** What the processor can do and the libraries use: the variant that was picked. */
  readonly systemInfo: () => string;
  readonly memory: (context: Pointer) => MaybePointer;
  readonly contextTokensOfSequence: (context: Pointer) => number;
  readonly contextTokensOfTraining: (model: Pointer) => number;
  readonly embeddingLength: (model: Pointer) => number;
  /** Length of a pooled vector, which some models make from a longer or shorter row. */
  readonly embeddingLengthOut: (model: Pointer) => number;
  readonly classes: (model: Pointer) => number;
  readonly hasEncoder: (model: Pointer) => boolean;
  readonly chatTemplate: (model: Pointer, name: null) => string | null;
  readonly vocabulary: (model: Pointer) => Pointer;
  readonly vocabularySize: (vocabulary: Pointer) => number;
  readonly beginToken: (vocabulary: Pointer) => number;
  readonly addsBeginToken: (vocabulary: Pointer) => boolean;
  readonly endToken: (vocabulary: Pointer) => number;
  readonly addsEndToken: (vocabulary: Pointer) => boolean;
  readonly separatorToken: (vocabulary: Pointer) => number;
  readonly addsSeparatorToken: (vocabulary: Pointer) => boolean;
  readonly isEndOfGeneration: (vocabulary: Pointer, token: number) => boolean;
  readonly tokenize: (
    vocabulary: Pointer,
    text: Uint8Array,
    textBytes: number,
    tokens: Int32Array,
    tokensMax: number,
    addSpecial: boolean,
    parseSpecial: boolean,
  ) => number;
  readonly tokenToPiece: (
    vocabulary: Pointer,
    token: number,
    buffer: Uint8Array,
    bytesMax: number,
    lstrip: number,
    special: boolean,
  ) => number;
  readonly batchInit: (rowsMax: number, embeddingLength: number, sequencesMax: number) => BatchStruct;
  readonly batchFree: (batch: BatchStruct) => void;
  readonly decode: (context: Pointer, batch: BatchStruct) => number;
  readonly encode: (context: Pointer, batch: BatchStruct) => number;
  readonly logitsOfRow: (context: Pointer, row: number) => MaybePointer;
  readonly embeddingOfSequence: (context: Pointer, sequence: number) => MaybePointer;
  readonly clearMemory: (memory: Pointer, data: boolean) => void;
  readonly removeFromSequence: (memory: Pointer, sequence: number, from: number, to: number) => boolean;
  readonly quantizeDefaults: () => QuantizeParams;
  readonly quantize: (from: string, to: string, params: QuantizeParams) => number;
  /** Only whole sequences (from -1 to -1): a range ends the process when each sequence has a cache of its own. */
  readonly lastPositionOfSequence: (memory: Pointer, sequence: number) => number;
  readonly stateSize: (context: Pointer, sequence: number) => number | bigint;
  /** Bytes written, or read; 0 = refused. */
  readonly getState: (context: Pointer, target: Uint8Array, bytes: number, sequence: number) => number | bigint;
  readonly setState: (context: Pointer, source: Uint8Array, bytes: number, sequence: number) => number | bigint;
  readonly layers: (model: Pointer) => number;
  readonly heads: (model: Pointer) => number;
  readonly headsOfKeys: (model: Pointer) => number;
  readonly slidingWindowTokens: (model: Pointer) => number;
  readonly isRecurrent: (model: Pointer) => boolean;
  readonly isHybrid: (model: Pointer) => boolean;
  readonly adapterInit: (model: Pointer, path: string) => MaybePointer;
  readonly adapterFree: (adapter: Pointer) => void;
  readonly setAdapters: (context: Pointer, adapters: BigUint64Array | null, count: number, scales: Float32Array | null) => number;
}

const progressCallback = koffi.pointer(koffi.proto('bool', ['float', 'void*']));

/** Runs `work` with the address of a function that native code calls with a share from 0 to 1. Valid until it returns. */
export function withProgressCallback<Value>(onShare: (share: number) => void, work: (address: unknown) => Value): Value {
  const goOn = (share: number): boolean => {
    onShare(share);
    return true;
  };
  const callback = koffi.register(goOn, progressCallback);
  try {
    return work(callback);
  } finally {
    koffi.unregister(callback);
  }
}

let opened: LlamaApi | undefined;

/**
 * Opens the libraries once a process, checks that the structs have the layout of the pinned release, and silences native logs unless
 * OSTRAKA_LLAMA_LOG is 1. The first call of a process says whether it uses a GPU. Errors: ENGINE_UNAVAILABLE, INTERNAL (layout drift: another release of the library).
 */
export function openLlamaApi(options: { readonly usesGpu: boolean } = { usesGpu: false }): LlamaApi {
  opened ??= openOnce(options);
  return opened;
}

/** Bytes of native memory as a typed array that shares them; valid as long as the library keeps the memory. */
export function viewNative(address: Pointer, bytes: number): ArrayBuffer {
  return koffi.view(address, bytes);
}

function openOnce(options: { readonly usesGpu: boolean }): LlamaApi {
  const { folder, ggml, llama, release } = locateLlamaLibraries(options);
  const ggmlLibrary = koffi.load(ggml);
  const library = koffi.load(llama);
  if (process.env['OSTRAKA_LLAMA_LOG'] !== '1') silence(library);
  ggmlLibrary.func('ggml_backend_load_all_from_path', 'void', ['str'])(folder);
  library.func('llama_backend_init', 'void', [])();
  const api = { ...bindApi(library), release };
  checkLayout(api);
  return api;
}

function silence(library: LibraryHandle): void {
  const callback = koffi.register(() => undefined, koffi.pointer(koffi.proto('void', ['int', 'void*', 'void*'])));
  library.func('llama_log_set', 'void', ['void*', 'void*'])(callback, null);
}

function bindApi(library: LibraryHandle): Omit<LlamaApi, 'release'> {
  const bind = (name: string, result: TypeObject | string, parameters: (TypeObject | string)[]) =>
    library.func(`llama_${name}`, result, parameters);
  return {
    modelDefaults: bind('model_default_params', modelParams, []),
    contextDefaults: bind('context_default_params', contextParams, []),
    loadModel: bind('model_load_from_file', 'void*', ['str', modelParams]),
    freeModel: bind('model_free', 'void', ['void*']),
    newContext: bind('init_from_model', 'void*', ['void*', contextParams]),
    freeContext: bind('free', 'void', ['void*']),
    systemInfo: bind('print_system_info', 'str', []),
    memory: bind('get_memory', 'void*', ['void*']),
    contextTokensOfSequence: bind('n_ctx_seq', 'uint32', ['void*']),
    contextTokensOfTraining: bind('model_n_ctx_train', 'int32', ['void*']),
    embeddingLength: bind('model_n_embd', 'int32', ['void*']),
    embeddingLengthOut: bind('model_n_embd_out', 'int32', ['void*']),
    classes: bind('model_n_cls_out', 'uint32', ['void*']),
    hasEncoder: bind('model_has_encoder', 'bool', ['void*']),
    chatTemplate: bind('model_chat_template', 'str', ['void*', 'str']),
    vocabulary: bind('model_get_vocab', 'void*', ['void*']),
    vocabularySize: bind('vocab_n_tokens', 'int32', ['void*']),
    beginToken: bind('vocab_bos', 'int32', ['void*']),
    addsBeginToken: bind('vocab_get_add_bos', 'bool', ['void*']),
    endToken: bind('vocab_eos', 'int32', ['void*']),
    addsEndToken: bind('vocab_get_add_eos', 'bool', ['void*']),
    separatorToken: bind('vocab_sep', 'int32', ['void*']),
    addsSeparatorToken: bind('vocab_get_add_sep', 'bool', ['void*']),
    isEndOfGeneration: bind('vocab_is_eog', 'bool', ['void*', 'int32']),
    tokenize: bind('tokenize', 'int32', ['void*', 'uint8*', 'int32', 'int32*', 'int32', 'bool', 'bool']),
    tokenToPiece: bind('token_to_piece', 'int32', ['void*', 'int32', 'uint8*', 'int32', 'int32', 'bool']),
    batchInit: bind('batch_init', batchStruct, ['int32', 'int32', 'int32']),
    batchFree: bind('batch_free', 'void', [batchStruct]),
    decode: bind('decode', 'int32', ['void*', batchStruct]),
    encode: bind('encode', 'int32', ['void*', batchStruct]),
    logitsOfRow: bind('get_logits_ith', 'void*', ['void*', 'int32']),
    embeddingOfSequence: bind('get_embeddings_seq', 'void*', ['void*', 'int32']),
    clearMemory: bind('memory_clear', 'void', ['void*', 'bool']),
    removeFromSequence: bind('memory_seq_rm', 'bool', ['void*', 'int32', 'int32', 'int32']),
    quantizeDefaults: bind('model_quantize_default_params', quantizeParams, []),
    quantize: bind('model_quantize', 'uint32', ['str', 'str', koffi.pointer(quantizeParams)]),
    lastPositionOfSequence: bind('memory_seq_pos_max', 'int32', ['void*', 'int32']),
    stateSize: bind('state_seq_get_size', 'size_t', ['void*', 'int32']),
    getState: bind('state_seq_get_data', 'size_t', ['void*', 'uint8*', 'size_t', 'int32']),
    setState: bind('state_seq_set_data', 'size_t', ['void*', 'uint8*', 'size_t', 'int32']),
    layers: bind('model_n_layer', 'int32', ['void*']),
    heads: bind('model_n_head', 'int32', ['void*']),
    headsOfKeys: bind('model_n_head_kv', 'int32', ['void*']),
    slidingWindowTokens: bind('model_n_swa', 'int32', ['void*']),
    isRecurrent: bind('model_is_recurrent', 'bool', ['void*']),
    isHybrid: bind('model_is_hybrid', 'bool', ['void*']),
    adapterInit: bind('adapter_lora_init', 'void*', ['void*', 'str']),
    adapterFree: bind('adapter_lora_free', 'void', ['void*']),
    setAdapters: bind('set_adapters_lora', 'int32', ['void*', 'uint64*', 'size_t', 'float*']),
  };
}

// The structs are written by hand from the pinned release's llama.h: a field that moved shows as a default that is not where it was.
function checkLayout(api: LlamaApi): void {
  const context = api.contextDefaults();
  const contextFits =
    context.n_ctx === 512 &&
    context.n_batch === 2048 &&
    context.n_ubatch === 512 &&
    context.n_seq_max === 1 &&
    context['n_outputs_max_per_seq'] === 1 &&
    context.flash_attn_type === -1 &&
    context['yarn_ext_factor'] === -1 &&
    context['type_k'] === 1 &&
    context['type_v'] === 1 &&
    context.offload_kqv === true &&
    context['no_perf'] === true &&
    context['swa_full'] === true &&
    context.kv_unified === false &&
    context['n_samplers'] === 0;
  const model = api.modelDefaults();
  const modelFits = model.n_gpu_layers === -1 && model['split_mode'] === 1 && model['use_extra_bufts'] === true;
  assert(contextFits && modelFits, 'the llama.cpp libraries are of the release whose structs are declared here');
}
