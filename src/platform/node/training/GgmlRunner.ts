import { assert } from '../../../base/index.js';
import { platformError } from '../../index.js';
import { type Pointer, viewNative } from '../llama/LlamaApi.js';
import { type GgmlApi, openGgmlApi } from './GgmlApi.js';
import { GgmlGraph } from './GgmlGraph.js';

/** What to do with a graph: `fill` its inputs before, `read` its outputs after. */
export interface BuiltGraph<Result> {
  readonly fill?: () => void;
  readonly read: () => Result;
}

/** Tensors that stay, in memory of their own. */
export interface GgmlTensors {
  readonly tensors: readonly Pointer[];
  free(): void;
}

/** The CPU backend of ggml and its memory for graphs, which are built, computed and dropped one after another. */
export class GgmlRunner {
  readonly api: GgmlApi;
  readonly #backend: Pointer;
  readonly #allocator: Pointer;

  constructor(options: { readonly threads: number }) {
    this.api = openGgmlApi();
    const backend = this.api.newBackend(options.threads);
    if (backend === null) throw platformError('ENGINE_UNAVAILABLE', 'ggml offers no CPU backend');
    this.#backend = backend;
    this.#allocator = this.api.newAllocator(backend);
  }

  /** Uninitialised tensors, `sizes` innermost first. Errors: ENGINE_STEP_FAILED (no memory). */
  allocate(wanted: readonly { readonly type: number; readonly sizes: readonly number[] }[]): GgmlTensors {
    const { api } = this;
    const context = this.newContext(wanted.length);
    const tensors = wanted.map(({ type, sizes }) => api.newTensor(context, type, sizes.length, BigInt64Array.from(sizes, BigInt)));
    const buffer = api.allocateContext(context, this.#backend);
    if (buffer === null) throw platformError('ENGINE_STEP_FAILED', `there is no memory for ${wanted.length} tensors`);
    const free = (): void => {
      api.freeBuffer(buffer);
      api.freeContext(context);
    };
    return { tensors, free };
  }

  /** Room for the description of tensors, not for their data. */
  newContext(tensors: number, extraBytes = 0): Pointer {
    const bytes = tensors * Number(this.api.tensorOverhead()) + extraBytes;
    const context = this.api.newContext({ mem_size: Math.max(bytes, 1024), mem_buffer: null, no_alloc: true });
    assert(context !== null, 'ggml makes a context');
    return context;
  }

  /** Builds and computes one graph. Errors: ENGINE_STEP_FAILED (no memory, or the library's status). */
  async run<Result>(nodesMax: number, build: (graph: GgmlGraph) => BuiltGraph<Result>): Promise<Result> {
    const { api } = this;
    // A node is a tensor, and so is every view and input of it.
    const context = this.newContext(2 * nodesMax, Number(api.graphOverhead(nodesMax, false)));
    try {
      const graph = new GgmlGraph(api, context, nodesMax);
      const built = build(graph);
      if (!api.allocateGraph(this.#allocator, graph.pointer)) throw platformError('ENGINE_STEP_FAILED', 'there is no memory for a step');
      built.fill?.();
      const status = await api.compute(this.#backend, graph.pointer);
      if (status !== 0) throw platformError('ENGINE_STEP_FAILED', `ggml_backend_graph_compute returned ${status}`);
      return built.read();
    } finally {
      api.freeContext(context);
    }
  }

  /** The data of a tensor of 32-bit floats; a view, valid as long as the tensor. */
  floats(tensor: Pointer): Float32Array {
    return new Float32Array(this.#bytes(tensor));
  }

  integers(tensor: Pointer): Int32Array {
    return new Int32Array(this.#bytes(tensor));
  }

  close(): void {
    this.api.freeAllocator(this.#allocator);
    this.api.freeBackend(this.#backend);
  }

  #bytes(tensor: Pointer): ArrayBuffer {
    const address = this.api.dataOf(tensor);
    assert(address !== null, 'a tensor whose data is used has memory');
    return viewNative(address, Number(this.api.bytesOf(tensor)));
  }
}
