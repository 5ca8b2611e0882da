import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { encodeGguf, type GgufTensorData, gguf } from '../../src/models/index.js';
import { noise } from './tinyLlama.js';

const shape = { layers: 2, width: 32, feedForwardWidth: 64, heads: 4, epsilon: 1e-12 };
const positionsDefault = 160;
const words =
  'a an at by for in of on or the to sea ship port crew dawn tide wind sail rope mast deck hull keel bow log map star bay gull'.split(' ');
const controls = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
/** Ids of the tokens that stand around texts. */
export const tinyBertMarks = { begin: 2, end: 3 };
/** Words that are one token each: `words[i]` is token `i + 5`. */
export const tinyBertWords: readonly string[] = words;

interface TinyBert {
  readonly path: string;
  readonly digest: string;
  /** The rows of a text after the last layer, computed in plain 64-bit arithmetic; one by one. */
  readonly rows: (tokens: readonly number[]) => readonly (readonly number[])[];
  /** The log-odds of a pair from its first row. */
  readonly logOdds: (tokens: readonly number[]) => number;
}

interface TinyBertOptions {
  readonly poolingType: number;
  readonly classes?: readonly string[];
  readonly metadata?: readonly Uint8Array[];
  /** Tokens of the longest text; absent = 160. */
  readonly positions?: number;
}

/**
 * Writes a BERT encoder with random weights and, with pooling `rank`, the head of a cross-encoder; the same file every time. The reference
 * computes by the definition of the model, with the approximation of GELU that llama.cpp has.
 */
export function writeTinyBert(path: string, options: TinyBertOptions): TinyBert {
  const tensors = tensorsOf(options);
  const bytes = encodeGguf({ metadata: [...metadataOf(options), ...(options.metadata ?? [])], tensors });
  writeFileSync(path, bytes);
  const values = new Map(tensors.map((tensor) => [tensor.name, tensor.values]));
  const weights = (name: string): Float32Array => values.get(name) as Float32Array;
  const rows = (tokens: readonly number[]) => rowsOf(tokens, weights);
  return {
    path,
    digest: createHash('sha256').update(bytes).digest('hex'),
    rows,
    logOdds: (tokens) => {
      const hidden = linear(rows(tokens)[0] as number[], weights, 'cls').map(Math.tanh);
      return linear(hidden, weights, 'cls.output')[0] as number;
    },
  };
}

const metadataOf = ({ poolingType, classes, positions = positionsDefault }: TinyBertOptions): Uint8Array[] => {
  const { text, u32, f32, bool, texts, i32s } = gguf.metadata;
  const tokens = [...controls, ...words.map((word) => `\u2581${word}`)];
  return [
    text('general.architecture', 'bert'),
    text('general.name', 'tiny'),
    u32('bert.block_count', shape.layers),
    u32('bert.context_length', positions),
    u32('bert.embedding_length', shape.width),
    u32('bert.feed_forward_length', shape.feedForwardWidth),
    u32('bert.attention.head_count', shape.heads),
    f32('bert.attention.layer_norm_epsilon', shape.epsilon),
    bool('bert.attention.causal', false),
    u32('bert.pooling_type', poolingType),
    ...(classes ? [texts('bert.classifier.output_labels', classes)] : []),
    text('tokenizer.ggml.model', 'bert'),
    text('tokenizer.ggml.pre', 'default'),
    texts('tokenizer.ggml.tokens', tokens),
    i32s(
      'tokenizer.ggml.token_type',
      Int32Array.from(tokens, (_, id) => (id < controls.length ? 3 : 1)),
    ),
    u32('tokenizer.ggml.token_type_count', 2),
    u32('tokenizer.ggml.bos_token_id', 2),
    u32('tokenizer.ggml.eos_token_id', 3),
    u32('tokenizer.ggml.unknown_token_id', 1),
    u32('tokenizer.ggml.seperator_token_id', 3), // spelled so by llama.cpp
    u32('tokenizer.ggml.padding_token_id', 0),
    u32('tokenizer.ggml.cls_token_id', 2),
    u32('tokenizer.ggml.mask_token_id', 4),
  ];
};

const tensorsOf = ({ poolingType, positions = positionsDefault }: TinyBertOptions): GgufTensorData[] => {
  const { layers, width, feedForwardWidth } = shape;
  const withHead = poolingType === 4;
  const tensor = (name: string, dimensions: readonly number[], bound: number, around = 0): GgufTensorData => {
    const count = dimensions.reduce((product, size) => product * size, 1);
    return { name, dimensions, type: 'f32', values: noise(name, count, bound).map((value) => around + value) };
  };
  const pair = (name: string, inputs: number, outputs: number, gain = 2): GgufTensorData[] => [
    tensor(`${name}.weight`, [inputs, outputs], gain / Math.sqrt(inputs)),
    tensor(`${name}.bias`, [outputs], 0.2),
  ];
  const norm = (name: string): GgufTensorData[] => [tensor(`${name}.weight`, [width], 0.3, 1), tensor(`${name}.bias`, [width], 0.2)];
  const block = (index: number): GgufTensorData[] => {
    const at = `blk.${index}`;
    return [
      ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].flatMap((name) => pair(`${at}.${name}`, width, width)),
      ...norm(`${at}.attn_output_norm`),
      ...pair(`${at}.ffn_up`, width, feedForwardWidth),
      ...pair(`${at}.ffn_down`, feedForwardWidth, width),
      ...norm(`${at}.layer_output_norm`),
    ];
  };
  return [
    tensor('token_embd.weight', [width, controls.length + words.length], 1),
    tensor('position_embd.weight', [width, positions], 0.3),
    tensor('token_types.weight', [width, 2], 0.3),
    ...norm('token_embd_norm'),
    ...Array.from({ length: layers }, (_, index) => block(index)).flat(),
    ...(withHead ? [...pair('cls', width, width), ...pair('cls.output', width, 1, 4)] : []),
  ];
};

type Weights = (name: string) => Float32Array;

const linear = (row: readonly number[], weights: Weights, name: string): number[] => {
  const matrix = weights(`${name}.weight`);
  return Array.from(weights(`${name}.bias`), (bias, out) => {
    let sum = bias;
    for (let i = 0; i < row.length; i++) sum += (matrix[out * row.length + i] as number) * (row[i] as number);
    return sum;
  });
};

const normed = (row: readonly number[], weights: Weights, name: string): number[] => {
  const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
  const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
  const [gain, bias] = [weights(`${name}.weight`), weights(`${name}.bias`)];
  return row.map((value, i) => ((value - mean) / Math.sqrt(variance + shape.epsilon)) * (gain[i] as number) + (bias[i] as number));
};

const added = (left: readonly number[], right: readonly number[]): number[] => left.map((value, i) => value + (right[i] as number));

const gelu = (x: number): number => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

const rowsOf = (tokens: readonly number[], weights: Weights): readonly (readonly number[])[] => {
  const { width, layers } = shape;
  const row = (name: string, index: number) => Array.from(weights(name).subarray(index * width, (index + 1) * width));
  let rows = tokens.map((token, position) => {
    const typed = added(row('token_embd.weight', token), row('token_types.weight', 0));
    return normed(added(typed, row('position_embd.weight', position)), weights, 'token_embd_norm');
  });
  for (let layer = 0; layer < layers; layer++) {
    const at = `blk.${layer}`;
    const attended = attention(rows, weights, at);
    const inner = rows.map((each, i) => normed(added(each, attended[i] as number[]), weights, `${at}.attn_output_norm`));
    rows = inner.map((each) => {
      const fed = linear(linear(each, weights, `${at}.ffn_up`).map(gelu), weights, `${at}.ffn_down`);
      return normed(added(each, fed), weights, `${at}.layer_output_norm`);
    });
  }
  return rows;
};

const attention = (rows: readonly (readonly number[])[], weights: Weights, at: string): number[][] => {
  const size = shape.width / shape.heads;
  const [queries, keys, values] = ['attn_q', 'attn_k', 'attn_v'].map((name) => rows.map((row) => linear(row, weights, `${at}.${name}`)));
  return (queries as number[][]).map((query) => {
    const mixed = Array.from({ length: shape.heads }, (_, head) => {
      const part = (row: readonly number[]) => row.slice(head * size, (head + 1) * size);
      const scores = (keys as number[][]).map(
        (key) => part(key).reduce((sum, x, i) => sum + x * (part(query)[i] as number), 0) / Math.sqrt(size),
      );
      const largest = Math.max(...scores);
      const shares = scores.map((score) => Math.exp(score - largest));
      const total = shares.reduce((sum, share) => sum + share, 0);
      return Array.from({ length: size }, (_, i) =>
        (values as number[][]).reduce((sum, value, k) => sum + ((shares[k] as number) / total) * (part(value)[i] as number), 0),
      );
    });
    return linear(mixed.flat(), weights, `${at}.attn_output`);
  });
};
