import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { encodeGguf, type GgufTensorData, gguf } from '../../src/models/index.js';
import { linearWidths, type ModelShape } from '../../src/platform/index.js';

/** Two keys for four heads, so that groups of heads share one; a width that 8-bit blocks divide. */
export const tinyShape: ModelShape = {
  layers: 2,
  width: 64,
  feedForwardWidth: 96,
  heads: 4,
  headsOfKeys: 2,
  vocabularySize: 288,
  contextTokens: 256,
};

/** Writes a llama model with random weights, a vocabulary of bytes and a chat template; the same file every time. */
export function writeTinyLlama(
  path: string,
  changes: {
    readonly type?: 'f32' | 'f16';
    /** Of its training, as far as its file says. */
    readonly contextTokens?: number;
    readonly chatTemplate?: string;
    readonly metadata?: readonly Uint8Array[];
    readonly tensors?: readonly GgufTensorData[];
  } = {},
): { readonly path: string; readonly digest: string } {
  const tensors = [...tinyTensors(changes.type ?? 'f32'), ...(changes.tensors ?? [])];
  const { chatTemplate = template, contextTokens = tinyShape.contextTokens } = changes;
  const metadata = [...tinyMetadata({ chatTemplate, contextTokens }), ...(changes.metadata ?? [])];
  const bytes = encodeGguf({ metadata, tensors });
  writeFileSync(path, bytes);
  return { path, digest: createHash('sha256').update(bytes).digest('hex') };
}

const template =
  "{% for m in messages %}<s>{{ m['role'] }}:{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant:{% endif %}";

const tinyMetadata = ({ chatTemplate, contextTokens }: { readonly chatTemplate: string; readonly contextTokens: number }): Uint8Array[] => {
  const { text, u32, f32, bool, texts, i32s } = gguf.metadata;
  const { layers, width, feedForwardWidth, heads, headsOfKeys, vocabularySize } = tinyShape;
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  const unused = Array.from({ length: vocabularySize - 259 }, (_, i) => `unused${i}`);
  return [
    text('general.architecture', 'llama'),
    text('general.name', 'tiny'),
    u32('llama.block_count', layers),
    u32('llama.context_length', contextTokens),
    u32('llama.embedding_length', width),
    u32('llama.feed_forward_length', feedForwardWidth),
    u32('llama.attention.head_count', heads),
    u32('llama.attention.head_count_kv', headsOfKeys),
    u32('llama.rope.dimension_count', width / heads),
    f32('llama.rope.freq_base', 10_000),
    f32('llama.attention.layer_norm_rms_epsilon', 1e-5),
    u32('llama.vocab_size', vocabularySize),
    text('tokenizer.ggml.model', 'llama'),
    texts('tokenizer.ggml.tokens', ['<unk>', '<s>', '</s>', ...bytes, ...unused]),
    f32s('tokenizer.ggml.scores', new Float32Array(vocabularySize)),
    i32s('tokenizer.ggml.token_type', Int32Array.from([2, 3, 3, ...bytes.map(() => 6), ...unused.map(() => 5)])),
    u32('tokenizer.ggml.bos_token_id', 1),
    u32('tokenizer.ggml.eos_token_id', 2),
    u32('tokenizer.ggml.unknown_token_id', 0),
    bool('tokenizer.ggml.add_bos_token', false),
    bool('tokenizer.ggml.add_space_prefix', false),
    text('tokenizer.chat_template', chatTemplate),
  ];
};

const f32s = (key: string, values: Float32Array): Uint8Array => {
  const bytes = gguf.metadata.i32s(key, new Int32Array(values.buffer));
  bytes.set(gguf.u32(6), 8 + key.length + 4); // the same list, of 32-bit floats
  return bytes;
};

const tinyTensors = (type: 'f32' | 'f16'): GgufTensorData[] => {
  const { layers, width, vocabularySize } = tinyShape;
  const matrix = (name: string, inputs: number, outputs: number): GgufTensorData => ({
    name,
    dimensions: [inputs, outputs],
    type,
    values: noise(name, inputs * outputs, 1.5 / Math.sqrt(inputs)),
  });
  const norm = (name: string): GgufTensorData => ({
    name,
    dimensions: [width],
    type: 'f32',
    values: noise(name, width, 0.3).map((value) => 1 + value),
  });
  const layer = (index: number): GgufTensorData[] => [
    norm(`blk.${index}.attn_norm.weight`),
    norm(`blk.${index}.ffn_norm.weight`),
    ...Object.entries(linearWidths(tinyShape)).map(([name, { inputs, outputs }]) => matrix(`blk.${index}.${name}.weight`, inputs, outputs)),
  ];
  return [
    matrix('token_embd.weight', width, vocabularySize),
    norm('output_norm.weight'),
    ...Array.from({ length: layers }, (_, index) => layer(index)).flat(),
  ];
};

/** Even noise within ±`bound`, by name. */
export function noise(name: string, count: number, bound: number): Float32Array {
  const digest = createHash('sha256').update(name).digest();
  let state = digest.readUInt32LE(0);
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state / 2 ** 31 - 1) * bound;
  });
}
