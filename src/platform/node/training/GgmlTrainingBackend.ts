import { assert } from '../../../base/index.js';
import {
  type LinearName,
  linearWidths,
  type ModelShape,
  platformError,
  type TrainableTensor,
  type TrainingBackend,
  type TrainingSequence,
} from '../../index.js';
import { checkModelFile } from '../llama/checkModelFile.js';
import type { Pointer } from '../llama/LlamaApi.js';
import type { ModelFile } from '../llama/LlamaModel.js';
import { describeLlama } from './describeLlama.js';
import { ggmlTypes } from './GgmlGraph.js';
import { GgmlRunner, type GgmlTensors } from './GgmlRunner.js';
import { type AdapterPair, LlamaPass, type LlamaPassModel, type PassInputs } from './LlamaPass.js';
import { LlamaWeights } from './LlamaWeights.js';
import { layOutPass, type PassLayout } from './layOutPass.js';

export interface GgmlTrainingOptions {
  readonly model: ModelFile;
  /** Matrices of every layer that the adapter changes. */
  readonly targets: readonly LinearName[];
  readonly rank: number;
  readonly alpha: number;
  readonly threads: number;
}

// Counted over a layer with an adapter on all seven matrices, both ways; the rest is the table, the norm and the logits.
const nodesOfLayer = 320;
const nodesOfEnds = 64;
// Below this a probability is taken for this: its logarithm is finite.
const probabilityMin = 1e-30;

/**
 * TrainingBackend on ggml's CPU backend: forward pass and a backward pass written here, on the libraries that the engine ships (R29).
 * Weights keep the types of the file; gradients and the adapter are 32-bit floats.
 */
export class GgmlTrainingBackend implements TrainingBackend {
  readonly shape: ModelShape;
  readonly tensors: readonly TrainableTensor[];
  readonly #runner: GgmlRunner;
  readonly #model: LlamaPassModel;
  readonly #adapter: GgmlTensors;
  readonly #byName: ReadonlyMap<string, TrainableTensor>;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(runner: GgmlRunner, model: LlamaPassModel, adapter: GgmlTensors, tensors: readonly TrainableTensor[]) {
    this.#runner = runner;
    this.#model = model;
    this.#adapter = adapter;
    this.shape = model.description.shape;
    this.tensors = tensors;
    this.#byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  }

  /** Reads and checks the model, which takes seconds. Errors: MODEL_INVALID, ENGINE_UNAVAILABLE, ENGINE_STEP_FAILED (no memory). */
  static async open(options: GgmlTrainingOptions): Promise<GgmlTrainingBackend> {
    const { model: file, targets, rank, alpha, threads } = options;
    const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${file.path}: ${reason}`, { cause });
    const { digest, facts } = checkModelFile(file.path, refuse);
    if (digest !== file.digest) throw refuse(`its SHA-256 is ${digest}, expected ${file.digest}`);
    const description = describeLlama(facts, refuse);
    const { shape } = description;
    const runner = new GgmlRunner({ threads });
    const weights = await LlamaWeights.read({ runner, path: file.path, facts, shape });
    const wanted = adapterTensors(shape, targets, rank);
    const adapter = runner.allocate(wanted.map(({ columns, rows }) => ({ type: ggmlTypes.f32, sizes: [columns, rows] })));
    const tensors = wanted.map((one, i) => {
      const values = runner.floats(adapter.tensors[i] as Pointer);
      values.fill(0);
      return { ...one, values, gradient: new Float32Array(values.length) };
    });
    const pointers = new Map(wanted.map(({ name }, i) => [name, adapter.tensors[i] as Pointer]));
    const adapterOf = (layer: number, name: LinearName): AdapterPair | undefined => {
      const [a, b] = [pointers.get(tensorName(layer, name, 'a')), pointers.get(tensorName(layer, name, 'b'))];
      return a === undefined || b === undefined ? undefined : { a, b };
    };
    return new GgmlTrainingBackend(runner, { description, weights, adapterOf, adapterScale: alpha / rank }, adapter, tensors);
  }

  async run(sequences: readonly TrainingSequence[], gradientScale: number): Promise<Float32Array> {
    this.#check(sequences);
    const layout = layOutPass(sequences);
    const running = this.#runner.run(this.shape.layers * nodesOfLayer + nodesOfEnds, (graph) => {
      const pass = new LlamaPass(graph, this.#model, layout);
      const probabilities = pass.build(gradientScale);
      return {
        fill: () => this.#fill(pass.inputs, layout, gradientScale !== 0),
        read: () => {
          this.#addGradients(pass);
          return lossesOf(this.#runner.floats(probabilities), layout, this.shape.vocabularySize);
        },
      };
    });
    this.#running = running.catch(() => undefined);
    return running;
  }

  async close(): Promise<void> {
    await this.#running;
    this.#adapter.free();
    this.#model.weights.free();
    this.#runner.close();
  }

  /** Native code reads what ids and positions point at, whatever they are. */
  #check(sequences: readonly TrainingSequence[]): void {
    assert(sequences.length > 0, 'a pass has sequences');
    const { vocabularySize, contextTokens } = this.shape;
    for (const { tokens, promptTokens } of sequences) {
      const holdsAnswer = promptTokens >= 1 && promptTokens < tokens.length && tokens.length <= contextTokens;
      assert(holdsAnswer, 'a sequence is a question and its answer within the context', { tokens: tokens.length, promptTokens });
      assert(
        tokens.every((token) => token >= 0 && token < vocabularySize),
        'token ids are of the vocabulary',
      );
    }
  }

  #fill(inputs: PassInputs, layout: PassLayout, needsExpected: boolean): void {
    const runner = this.#runner;
    const { positions } = layout;
    runner.integers(inputs.tokens).set(layout.tokens);
    runner.integers(inputs.positionIds).set(layout.positionIds);
    runner.integers(inputs.targetRows).set(layout.targetRows);
    const mask = runner.floats(inputs.mask).fill(Number.NEGATIVE_INFINITY);
    for (let row = 0; row < positions; row++) mask.fill(0, row * positions, row * positions + row + 1);
    if (!needsExpected) return; // without gradients nothing reads it, and it has no memory
    const expected = runner.floats(inputs.expected).fill(0);
    for (const [row, token] of layout.targetTokens.entries()) expected[row * this.shape.vocabularySize + token] = 1;
  }

  #addGradients(pass: LlamaPass): void {
    for (const { layer, name, a, b } of pass.gradients) {
      addTo(this.#byName.get(tensorName(layer, name, 'a')), this.#runner.floats(a));
      addTo(this.#byName.get(tensorName(layer, name, 'b')), this.#runner.floats(b));
    }
  }
}

const tensorName = (layer: number, name: LinearName, side: 'a' | 'b'): string => `blk.${layer}.${name}.weight.lora_${side}`;

const adapterTensors = (shape: ModelShape, targets: readonly LinearName[], rank: number) => {
  const widths = linearWidths(shape);
  const pair = (layer: number, name: LinearName) => [
    { name: tensorName(layer, name, 'a'), columns: widths[name].inputs, rows: rank },
    { name: tensorName(layer, name, 'b'), columns: rank, rows: widths[name].outputs },
  ];
  return Array.from({ length: shape.layers }, (_, layer) => targets.flatMap((name) => pair(layer, name))).flat();
};

const addTo = (tensor: TrainableTensor | undefined, gradient: Float32Array): void => {
  assert(tensor !== undefined && tensor.gradient.length === gradient.length, 'a gradient has the size of its tensor');
  for (let i = 0; i < gradient.length; i++) tensor.gradient[i] = (tensor.gradient[i] as number) + (gradient[i] as number);
};

const lossesOf = (probabilities: Float32Array, { targetTokens }: PassLayout, vocabularySize: number): Float32Array =>
  Float32Array.from(
    targetTokens,
    (token, row) => -Math.log(Math.max(probabilityMin, probabilities[row * vocabularySize + token] as number)),
  );
