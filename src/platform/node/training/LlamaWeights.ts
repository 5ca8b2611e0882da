import koffi from 'koffi';
import { assert } from '../../../base/index.js';
import { type LinearName, linearWidths, type ModelShape, platformError } from '../../index.js';
import type { Pointer } from '../llama/LlamaApi.js';
import type { GgufFacts } from '../llama/readGguf.js';
import { ggmlTypes } from './GgmlGraph.js';
import type { GgmlRunner, GgmlTensors } from './GgmlRunner.js';

/** A frozen matrix and its transpose: the one carries values forward, the other gradients back. */
export interface FrozenLinear {
  readonly weight: Pointer;
  readonly transposed: Pointer;
}

export interface LayerWeights {
  readonly attentionNorm: Pointer;
  readonly feedForwardNorm: Pointer;
  readonly linears: Readonly<Record<LinearName, FrozenLinear>>;
}

// A few operations: three casts and copies.
const transposeNodesMax = 16;

/**
 * The weights of a llama model in memory: the file's own tensors, as the engine computes with them, and a transpose of each matrix, in
 * the same type for floats and in 8 bits for quantised ones. Takes about twice the file.
 */
export class LlamaWeights {
  readonly embedding: Pointer;
  readonly outputNorm: Pointer;
  readonly output: FrozenLinear;
  readonly layers: readonly LayerWeights[];
  readonly #free: () => void;

  private constructor(find: (name: string) => FrozenLinear, shape: ModelShape, free: () => void) {
    this.embedding = find('token_embd.weight').weight;
    this.outputNorm = find('output_norm.weight').weight;
    this.output = find('output.weight');
    this.layers = Array.from({ length: shape.layers }, (_, layer) => ({
      attentionNorm: find(`blk.${layer}.attn_norm.weight`).weight,
      feedForwardNorm: find(`blk.${layer}.ffn_norm.weight`).weight,
      linears: mapLinears(shape, (name) => find(`blk.${layer}.${name}.weight`)),
    }));
    this.#free = free;
  }

  /** Reads the file, whose facts were checked, and computes the transposes. Errors: MODEL_INVALID, ENGINE_STEP_FAILED (no memory). */
  static async read(request: {
    readonly runner: GgmlRunner;
    readonly path: string;
    readonly facts: GgufFacts;
    readonly shape: ModelShape;
  }): Promise<LlamaWeights> {
    const { runner, path, facts, shape } = request;
    const file = readFile(runner, path);
    const names = matrixNames(facts, shape);
    const types = new Map(facts.tensors.map(({ name, type }) => [name, type]));
    const sizes = new Map(facts.tensors.map(({ name, dimensions }) => [name, dimensions]));
    const transposes = runner.allocate(
      names.map((name) => {
        const [inputs, outputs] = sizes.get(name) as readonly [number, number];
        return { type: transposedType(types.get(name) as number, outputs), sizes: [outputs, inputs] };
      }),
    );
    for (const [i, name] of names.entries()) await transpose(runner, file.find(name), transposes.tensors[i] as Pointer);
    const free = (): void => {
      transposes.free();
      file.free();
    };
    return new LlamaWeights(finder(file.find, names, transposes), shape, free);
  }

  free(): void {
    this.#free();
  }
}

const mapLinears = (shape: ModelShape, find: (name: string) => FrozenLinear): LayerWeights['linears'] => {
  const names = Object.keys(linearWidths(shape)) as LinearName[];
  return Object.fromEntries(names.map((name) => [name, find(name)])) as LayerWeights['linears'];
};

function readFile(runner: GgmlRunner, path: string): { readonly find: (name: string) => Pointer; readonly free: () => void } {
  const { api } = runner;
  const cell = koffi.alloc('void*', 1);
  const file = api.readGguf(path, { no_alloc: false, ctx: cell });
  if (file === null) throw platformError('MODEL_INVALID', `model ${path}: ggml cannot read it`);
  const context = koffi.decode(cell, 'void*') as Pointer;
  koffi.free(cell);
  const find = (name: string): Pointer => {
    const tensor = api.tensorOfName(context, name);
    assert(tensor !== null, 'a tensor of the file is found by its name', { name });
    return tensor;
  };
  const free = (): void => {
    api.freeGguf(file);
    api.freeContext(context);
  };
  return { find, free };
}

/** The output may share the table of the tokens. */
const outputName = (facts: GgufFacts): string =>
  facts.tensors.some(({ name }) => name === 'output.weight') ? 'output.weight' : 'token_embd.weight';

const matrixNames = (facts: GgufFacts, shape: ModelShape): readonly string[] => {
  const linears = Object.keys(linearWidths(shape));
  const ofLayers = Array.from({ length: shape.layers }, (_, layer) => linears.map((name) => `blk.${layer}.${name}.weight`));
  return [outputName(facts), ...ofLayers.flat()];
};

const finder = (find: (name: string) => Pointer, names: readonly string[], transposes: GgmlTensors) => {
  const transposed = new Map(names.map((name, i) => [name, transposes.tensors[i] as Pointer]));
  const [output] = names as readonly [string];
  return (name: string): FrozenLinear => {
    const source = name === 'output.weight' ? output : name;
    const weight = find(source);
    return { weight, transposed: transposed.get(source) ?? weight };
  };
};

/** Rows of 8-bit blocks are a multiple of 32. */
const transposedType = (type: number, rowLength: number): number => {
  if (type === ggmlTypes.f32) return ggmlTypes.f32;
  const isHalf = type === ggmlTypes.f16 || type === 30 || rowLength % 32 !== 0;
  return isHalf ? ggmlTypes.f16 : ggmlTypes.q8_0;
};

const transpose = (runner: GgmlRunner, weight: Pointer, target: Pointer): Promise<void> =>
  runner.run(transposeNodesMax, (graph) => {
    graph.output(graph.copy(graph.transpose(graph.toFloats(weight)), target));
    return { read: () => undefined };
  });
