import { linearWidths, type ModelShape } from '../../index.js';
import type { GgufFacts } from '../llama/readGguf.js';

/** What a pass needs to know of a model besides its weights. */
export interface LlamaDescription {
  readonly shape: ModelShape;
  readonly normEpsilon: number;
  readonly ropeBase: number;
}

// ggml's numbers of the types that can be read back as floats: F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, BF16.
const knownTypes: ReadonlySet<number> = new Set([0, 1, 2, 3, 6, 7, 8, 10, 11, 12, 13, 14, 30]);

/**
 * Reads the shape of a model whose forward pass is written here: plain llama, no mixture of experts, no scaled positions, no biases. What
 * such a model must not have is refused with the reason. The tensors are looked at by name, type and size.
 */
export function describeLlama(facts: GgufFacts, refuse: (reason: string) => Error): LlamaDescription {
  const architecture = facts.metadata.get('general.architecture');
  if (architecture !== 'llama') throw refuse(`its architecture is ${architecture ?? 'not stated'}; only llama models can be trained`);
  const number = (key: string): number => {
    const value = facts.metadata.get(`llama.${key}`);
    if (typeof value === 'number' && value > 0) return value;
    throw refuse(`its description has no number llama.${key}`);
  };
  const shape = readShape(number, facts, refuse);
  checkFeatures(facts, shape, refuse);
  checkTensors(facts, shape, refuse);
  const base = facts.metadata.get('llama.rope.freq_base');
  return { shape, normEpsilon: number('attention.layer_norm_rms_epsilon'), ropeBase: typeof base === 'number' ? base : 10_000 };
}

const readShape = (number: (key: string) => number, facts: GgufFacts, refuse: (reason: string) => Error): ModelShape => {
  const heads = number('attention.head_count');
  const width = number('embedding_length');
  const keys = facts.metadata.has('llama.attention.head_count_kv') ? number('attention.head_count_kv') : heads;
  const table = facts.tensors.find(({ name }) => name === 'token_embd.weight');
  if (table === undefined) throw refuse('it has no tensor token_embd.weight');
  if (heads % keys !== 0 || width % heads !== 0 || (width / heads) % 2 !== 0)
    throw refuse(`${heads} heads of ${keys} keys do not divide its width ${width}`);
  return {
    layers: number('block_count'),
    width,
    feedForwardWidth: number('feed_forward_length'),
    heads,
    headsOfKeys: keys,
    vocabularySize: table.dimensions[1] ?? 0,
    contextTokens: number('context_length'),
  };
};

const checkFeatures = ({ metadata }: GgufFacts, { width, heads }: ModelShape, refuse: (reason: string) => Error): void => {
  if (Number(metadata.get('llama.expert_count') ?? 0) > 0) throw refuse('it is a mixture of experts, which cannot be trained');
  const scaling = metadata.get('llama.rope.scaling.type') ?? 'none';
  if (scaling !== 'none') throw refuse(`its positions are scaled (${scaling}), which the trainer does not know`);
  for (const key of ['rope.dimension_count', 'attention.key_length', 'attention.value_length']) {
    const value = metadata.get(`llama.${key}`) ?? width / heads;
    if (value !== width / heads) throw refuse(`llama.${key} is ${value} instead of ${width / heads}`);
  }
};

const checkTensors = (facts: GgufFacts, shape: ModelShape, refuse: (reason: string) => Error): void => {
  const wanted = expectedTensors(shape);
  for (const { name, dimensions, type } of facts.tensors) {
    const expected = wanted.get(name);
    if (expected === undefined) throw refuse(`it has the tensor ${name}, which the trainer does not know`);
    if (dimensions.join() !== expected.join()) throw refuse(`tensor ${name} has sizes ${dimensions.join()} instead of ${expected.join()}`);
    if (!knownTypes.has(type)) throw refuse(`tensor ${name} is quantised in a way (type ${type}) that cannot be read back`);
    if (expected.length === 1 && type !== 0) throw refuse(`tensor ${name} is not of 32-bit floats`);
    wanted.delete(name);
  }
  wanted.delete('output.weight'); // models may use the table of their tokens instead
  const [missing] = wanted.keys();
  if (missing !== undefined) throw refuse(`it has no tensor ${missing}`);
};

const expectedTensors = (shape: ModelShape): Map<string, number[]> => {
  const { width, vocabularySize } = shape;
  const tensors = new Map([
    ['token_embd.weight', [width, vocabularySize]],
    ['output.weight', [width, vocabularySize]],
    ['output_norm.weight', [width]],
  ]);
  const linears = Object.entries(linearWidths(shape)).map(([name, { inputs, outputs }]) => [name, [inputs, outputs]] as const);
  for (let layer = 0; layer < shape.layers; layer++)
    for (const [name, sizes] of [...linears, ['attn_norm', [width]], ['ffn_norm', [width]]] as const)
      tensors.set(`blk.${layer}.${name}.weight`, [...sizes]);
  return tensors;
};
