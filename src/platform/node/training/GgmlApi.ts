import koffi, { type LibraryHandle } from 'koffi';
import { openLlamaApi, type Pointer } from '../llama/LlamaApi.js';
import { locateLlamaLibraries } from '../llama/locateLlamaLibraries.js';

type Unary = (context: Pointer, a: Pointer) => Pointer;
type Binary = (context: Pointer, a: Pointer, b: Pointer) => Pointer;
type Rope = (
  context: Pointer,
  a: Pointer,
  positions: Pointer,
  factors: null,
  dimensions: number,
  mode: number,
  contextOfTraining: number,
  base: number,
  scale: number,
  extension: number,
  attention: number,
  betaFast: number,
  betaSlow: number,
) => Pointer;

/**
 * ggml's C API as functions: the operations a forward and a backward pass of a llama model need, named as in `ggml.h`. Shapes are not
 * checked: a wrong one ends the process.
 */
export interface GgmlApi {
  readonly newContext: (params: { mem_size: number; mem_buffer: null; no_alloc: boolean }) => Pointer | null;
  readonly freeContext: (context: Pointer) => void;
  readonly tensorOverhead: () => number | bigint;
  readonly graphOverhead: (nodes: number, gradients: boolean) => number | bigint;
  /** Reads a whole GGUF file into memory; the address of its context is written into `context`. */
  readonly readGguf: (path: string, params: { no_alloc: boolean; ctx: unknown }) => Pointer | null;
  readonly freeGguf: (file: Pointer) => void;
  readonly tensorOfName: (context: Pointer, name: string) => Pointer | null;
  readonly dataOf: (tensor: Pointer) => Pointer | null;
  readonly bytesOf: (tensor: Pointer) => number | bigint;
  readonly setInput: (tensor: Pointer) => void;
  readonly setOutput: (tensor: Pointer) => void;
  readonly newGraph: (context: Pointer, nodes: number, gradients: boolean) => Pointer;
  readonly expand: (graph: Pointer, tensor: Pointer) => void;
  readonly newTensor: (context: Pointer, type: number, dimensions: number, sizes: BigInt64Array) => Pointer;
  readonly mulMat: Binary;
  readonly outProd: Binary;
  readonly add: Binary;
  readonly sub: Binary;
  readonly mul: Binary;
  readonly scale: (context: Pointer, a: Pointer, factor: number) => Pointer;
  readonly rmsNorm: (context: Pointer, a: Pointer, epsilon: number) => Pointer;
  readonly rmsNormBack: (context: Pointer, gradient: Pointer, a: Pointer, epsilon: number) => Pointer;
  readonly silu: Unary;
  readonly siluBack: Binary;
  readonly getRows: Binary;
  readonly getRowsBack: (context: Pointer, gradient: Pointer, rows: Pointer, shape: Pointer) => Pointer;
  readonly repeatBack: Binary;
  readonly softMax: (context: Pointer, a: Pointer, mask: Pointer | null, scale: number, bias: number) => Pointer;
  readonly softMaxBack: (context: Pointer, gradient: Pointer, probabilities: Pointer, scale: number, bias: number) => Pointer;
  readonly reshape: (context: Pointer, a: Pointer, w: number, x: number, y: number, z: number) => Pointer;
  readonly permute: (context: Pointer, a: Pointer, w: number, x: number, y: number, z: number) => Pointer;
  readonly transpose: Unary;
  readonly contiguous: Unary;
  readonly cast: (context: Pointer, a: Pointer, type: number) => Pointer;
  readonly copy: Binary;
  readonly rope: Rope;
  readonly ropeBack: Rope;
  readonly newBackend: (threads: number) => Pointer | null;
  readonly freeBackend: (backend: Pointer) => void;
  readonly newAllocator: (backend: Pointer) => Pointer;
  readonly freeAllocator: (allocator: Pointer) => void;
  readonly allocateGraph: (allocator: Pointer, graph: Pointer) => boolean;
  /** Memory for all tensors of a context; null when there is not enough. */
  readonly allocateContext: (context: Pointer, backend: Pointer) => Pointer | null;
  readonly freeBuffer: (buffer: Pointer) => void;
  /** Computes on another thread; resolves with the library's status: 0 = done. */
  readonly compute: (backend: Pointer, graph: Pointer) => Promise<number>;
}

const cpuDevice = 0;
const contextParams = koffi.struct({ mem_size: 'size_t', mem_buffer: 'void*', no_alloc: 'bool' });
const ggufParams = koffi.struct({ no_alloc: 'bool', ctx: 'void*' });
const setThreads = koffi.proto('void', ['void*', 'int']);

let opened: GgmlApi | undefined;

/** Opens the libraries that the engine uses, once a process. Errors: ENGINE_UNAVAILABLE. */
export function openGgmlApi(): GgmlApi {
  opened ??= openOnce();
  return opened;
}

function openOnce(): GgmlApi {
  openLlamaApi(); // loads the variant of ggml for this processor and settles who hears the log
  const { ggml, ggmlBase } = locateLlamaLibraries();
  return bindApi(koffi.load(ggmlBase), koffi.load(ggml));
}

function bindApi(base: LibraryHandle, registry: LibraryHandle): GgmlApi {
  const bind = (name: string, result: string, parameters: (string | typeof contextParams)[]) =>
    base.func(`ggml_${name}`, result, parameters);
  const unary = (name: string) => bind(name, 'void*', ['void*', 'void*']);
  const binary = (name: string) => bind(name, 'void*', ['void*', 'void*', 'void*']);
  const ternary = (name: string, last: string) => bind(name, 'void*', ['void*', 'void*', 'void*', last]);
  const rope = (name: string) =>
    bind(name, 'void*', ['void*', 'void*', 'void*', 'void*', 'int', 'int', 'int', 'float', 'float', 'float', 'float', 'float', 'float']);
  const softMax = (name: string) => bind(name, 'void*', ['void*', 'void*', 'void*', 'float', 'float']);
  return {
    newContext: bind('init', 'void*', [contextParams]),
    freeContext: bind('free', 'void', ['void*']),
    tensorOverhead: bind('tensor_overhead', 'size_t', []),
    graphOverhead: bind('graph_overhead_custom', 'size_t', ['size_t', 'bool']),
    readGguf: base.func('gguf_init_from_file', 'void*', ['str', ggufParams]),
    freeGguf: base.func('gguf_free', 'void', ['void*']),
    tensorOfName: bind('get_tensor', 'void*', ['void*', 'str']),
    dataOf: bind('get_data', 'void*', ['void*']),
    bytesOf: bind('nbytes', 'size_t', ['void*']),
    setInput: bind('set_input', 'void', ['void*']),
    setOutput: bind('set_output', 'void', ['void*']),
    newGraph: bind('new_graph_custom', 'void*', ['void*', 'size_t', 'bool']),
    expand: bind('build_forward_expand', 'void', ['void*', 'void*']),
    newTensor: bind('new_tensor', 'void*', ['void*', 'int', 'int', 'int64*']),
    mulMat: binary('mul_mat'),
    outProd: binary('out_prod'),
    add: binary('add'),
    sub: binary('sub'),
    mul: binary('mul'),
    scale: bind('scale', 'void*', ['void*', 'void*', 'float']),
    rmsNorm: bind('rms_norm', 'void*', ['void*', 'void*', 'float']),
    rmsNormBack: ternary('rms_norm_back', 'float'),
    silu: unary('silu'),
    siluBack: binary('silu_back'),
    getRows: binary('get_rows'),
    getRowsBack: ternary('get_rows_back', 'void*'),
    repeatBack: binary('repeat_back'),
    softMax: softMax('soft_max_ext'),
    softMaxBack: softMax('soft_max_ext_back'),
    reshape: bind('reshape_4d', 'void*', ['void*', 'void*', 'int64', 'int64', 'int64', 'int64']),
    permute: bind('permute', 'void*', ['void*', 'void*', 'int', 'int', 'int', 'int']),
    transpose: unary('transpose'),
    contiguous: unary('cont'),
    cast: bind('cast', 'void*', ['void*', 'void*', 'int']),
    copy: binary('cpy'),
    rope: rope('rope_ext'),
    ropeBack: rope('rope_ext_back'),
    newBackend: backendOpener(base, registry),
    freeBackend: bind('backend_free', 'void', ['void*']),
    newAllocator: allocatorOpener(base),
    freeAllocator: bind('gallocr_free', 'void', ['void*']),
    allocateGraph: bind('gallocr_alloc_graph', 'bool', ['void*', 'void*']),
    allocateContext: bind('backend_alloc_ctx_tensors', 'void*', ['void*', 'void*']),
    freeBuffer: bind('backend_buffer_free', 'void', ['void*']),
    compute: computer(base),
  };
}

/** The CPU, with its number of threads: the setter is found through the device, since each variant of the library has its own. */
function backendOpener(base: LibraryHandle, registry: LibraryHandle): GgmlApi['newBackend'] {
  const open = registry.func('ggml_backend_init_by_type', 'void*', ['int', 'str']);
  const deviceOf = base.func('ggml_backend_get_device', 'void*', ['void*']);
  const registryOf = base.func('ggml_backend_dev_backend_reg', 'void*', ['void*']);
  const procedure = base.func('ggml_backend_reg_get_proc_address', 'void*', ['void*', 'str']);
  return (threads) => {
    const backend = open(cpuDevice, null) as Pointer | null;
    if (backend === null) return null;
    koffi.call(procedure(registryOf(deviceOf(backend)), 'ggml_backend_set_n_threads'), setThreads, backend, threads);
    return backend;
  };
}

function allocatorOpener(base: LibraryHandle): GgmlApi['newAllocator'] {
  const open = base.func('ggml_gallocr_new', 'void*', ['void*']);
  const bufferType = base.func('ggml_backend_get_default_buffer_type', 'void*', ['void*']);
  return (backend) => open(bufferType(backend)) as Pointer;
}

function computer(base: LibraryHandle): GgmlApi['compute'] {
  const compute = base.func('ggml_backend_graph_compute', 'int', ['void*', 'void*']);
  return (backend, graph) =>
    new Promise((resolve, reject) => {
      compute.async(backend, graph, (error: Error | null, status: number) => (error === null ? resolve(status) : reject(error)));
    });
}
