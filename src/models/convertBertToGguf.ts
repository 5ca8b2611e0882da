import { platformError } from '../platform/index.js';
import { encodeGguf } from './encodeGguf.js';
import { gguf } from './gguf.js';
import { readSafetensors, type Tensor } from './readSafetensors.js';

/** The files of a sentence-transformers folder. */
export interface BertFiles {
  readonly name: string;
  readonly safetensors: Uint8Array;
  /** config.json, tokenizer_config.json, 1_Pooling/config.json, parsed. */
  readonly config: { readonly [key: string]: unknown };
  readonly pooling: { readonly [key: string]: unknown };
  /** vocab.txt */
  readonly vocabulary: string;
}

const special = { unk: '[UNK]', sep: '[SEP]', pad: '[PAD]', cls: '[CLS]', mask: '[MASK]' } as const;
const controls: ReadonlySet<string> = new Set(Object.values(special));

interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor;
  readonly type: 'f32' | 'f16';
}

/**
 * A BERT encoder with mean or CLS pooling as a GGUF file of 16-bit matrices (R23); deterministic. Only plain BERT: anything else is
 * refused. Errors: MODEL_INVALID.
 */
export function convertBertToGguf(files: BertFiles): Uint8Array {
  checkArchitecture(files.config);
  const metadata = [...architecture(files), ...tokenizer(files)];
  const tensors = namedTensors(files).map(({ name, tensor, type }) => ({
    name,
    type,
    dimensions: [...tensor.shape].reverse(),
    values: tensor.values,
  }));
  return encodeGguf({ metadata, tensors });
}

const checkArchitecture = (config: BertFiles['config']): void => {
  const plain = config['model_type'] === 'bert' && (config['hidden_act'] ?? 'gelu') === 'gelu';
  if (plain && (config['position_embedding_type'] ?? 'absolute') === 'absolute') return;
  throw platformError('MODEL_INVALID', 'only BERT encoders with gelu and absolute positions can be converted');
};

const number = (config: BertFiles['config'], key: string): number => {
  const value = config[key];
  if (typeof value === 'number') return value;
  throw platformError('MODEL_INVALID', `config.json has no number ${key}`);
};

const architecture = ({ name, config, pooling }: BertFiles): Uint8Array[] => {
  const { text, u32, f32, bool } = gguf.metadata;
  const poolingType = pooling['pooling_mode_cls_token'] ? 2 : (pooling['pooling_mode_mean_tokens'] ?? true) ? 1 : 0;
  if (poolingType === 0) throw platformError('MODEL_INVALID', 'only mean and CLS pooling are known');
  return [
    text('general.architecture', 'bert'),
    text('general.name', name),
    u32('general.file_type', 1),
    u32('general.quantization_version', 2),
    u32('bert.block_count', number(config, 'num_hidden_layers')),
    u32('bert.context_length', number(config, 'max_position_embeddings')),
    u32('bert.embedding_length', number(config, 'hidden_size')),
    u32('bert.feed_forward_length', number(config, 'intermediate_size')),
    u32('bert.attention.head_count', number(config, 'num_attention_heads')),
    f32('bert.attention.layer_norm_epsilon', number(config, 'layer_norm_eps')),
    bool('bert.attention.causal', false),
    u32('bert.pooling_type', poolingType),
    ...shorterLengths(config),
  ];
};

/** What the makers say of cutting the vectors (Matryoshka), under their own name for it. */
const shorterLengths = ({ matryoshka_dimensions: lengths }: BertFiles['config']): readonly Uint8Array[] =>
  Array.isArray(lengths) ? [gguf.metadata.i32s('bert.matryoshka_dimensions', Int32Array.from(lengths))] : [];

/** WordPiece as llama.cpp reads it: a word's start is marked, its continuation loses the hashes. */
const tokenizer = ({ config, vocabulary }: BertFiles): Uint8Array[] => {
  const { text, u32, texts, i32s } = gguf.metadata;
  const words = vocabulary.replace(/\n$/, '').split('\n');
  if (words.length !== number(config, 'vocab_size'))
    throw platformError('MODEL_INVALID', `vocab.txt has ${words.length} lines, config.json says otherwise`);
  const idOf = (token: string): number => words.indexOf(token);
  const tokens = words.map((word) => (controls.has(word) ? word : word.startsWith('##') ? word.slice(2) : `\u2581${word}`));
  const types = Int32Array.from(words, (word) => (controls.has(word) ? 3 : /^\[unused\d+\]$/.test(word) ? 5 : 1));
  return [
    text('tokenizer.ggml.model', 'bert'),
    text('tokenizer.ggml.pre', 'default'),
    texts('tokenizer.ggml.tokens', tokens),
    i32s('tokenizer.ggml.token_type', types),
    u32('tokenizer.ggml.token_type_count', (config['type_vocab_size'] as number | undefined) ?? 2),
    u32('tokenizer.ggml.bos_token_id', idOf(special.cls)),
    u32('tokenizer.ggml.eos_token_id', idOf(special.sep)),
    u32('tokenizer.ggml.unknown_token_id', idOf(special.unk)),
    u32('tokenizer.ggml.seperator_token_id', idOf(special.sep)), // spelled so by llama.cpp
    u32('tokenizer.ggml.padding_token_id', idOf(special.pad)),
    u32('tokenizer.ggml.cls_token_id', idOf(special.cls)),
    u32('tokenizer.ggml.mask_token_id', idOf(special.mask)),
  ];
};

/** Matrices in 16 bits; vectors and the small tables stay in 32. */
const namedTensors = ({ config, safetensors }: BertFiles): NamedTensor[] => {
  const file = readSafetensors(safetensors);
  // Some exports carry the name of the whole before that of its part.
  const read = (name: string): Tensor => file.read(file.names.includes(name) ? name : `bert.${name}`);
  const one = (name: string, source: string, type: 'f32' | 'f16' = 'f32'): NamedTensor => ({ name, tensor: read(source), type });
  const pair = (name: string, source: string, type: 'f32' | 'f16' = 'f32'): NamedTensor[] => [
    one(`${name}.weight`, `${source}.weight`, type),
    one(`${name}.bias`, `${source}.bias`),
  ];
  const block = (layer: number): NamedTensor[] => {
    const from = `encoder.layer.${layer}`;
    const to = `blk.${layer}`;
    return [
      ...pair(`${to}.attn_q`, `${from}.attention.self.query`, 'f16'),
      ...pair(`${to}.attn_k`, `${from}.attention.self.key`, 'f16'),
      ...pair(`${to}.attn_v`, `${from}.attention.self.value`, 'f16'),
      ...pair(`${to}.attn_output`, `${from}.attention.output.dense`, 'f16'),
      ...pair(`${to}.attn_output_norm`, `${from}.attention.output.LayerNorm`),
      ...pair(`${to}.ffn_up`, `${from}.intermediate.dense`, 'f16'),
      ...pair(`${to}.ffn_down`, `${from}.output.dense`, 'f16'),
      ...pair(`${to}.layer_output_norm`, `${from}.output.LayerNorm`),
    ];
  };
  return [
    one('token_embd.weight', 'embeddings.word_embeddings.weight', 'f16'),
    one('position_embd.weight', 'embeddings.position_embeddings.weight'),
    one('token_types.weight', 'embeddings.token_type_embeddings.weight'),
    ...pair('token_embd_norm', 'embeddings.LayerNorm'),
    ...Array.from({ length: number(config, 'num_hidden_layers') }, (_, layer) => block(layer)).flat(),
  ];
};
