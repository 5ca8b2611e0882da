import { ggufTypes } from '../../src/platform/node/llama/ggufTypes.js';

export interface SketchedEntry {
  readonly key: string;
  readonly type: number;
  readonly value: Buffer;
}

export interface SketchedTensor {
  readonly name: string;
  readonly dimensions: readonly (number | bigint)[];
  readonly type: number;
  /** Where its data are said to begin; absent = behind the tensor before. */
  readonly offset?: bigint;
  /** Of its data. */
  readonly bytes: number;
}

/** A GGUF file before it is written: whatever is wrong in one can be said here. */
export interface GgufSketch {
  readonly version: number;
  /** Counts that the header tells; absent = the true ones. */
  readonly tensorCount?: bigint;
  readonly entryCount?: bigint;
  readonly entries: readonly SketchedEntry[];
  readonly tensors: readonly SketchedTensor[];
}

const alignment = 32;

const number = (bytes: number, write: (buffer: Buffer) => void): Buffer => {
  const buffer = Buffer.alloc(bytes);
  write(buffer);
  return buffer;
};
const u32 = (value: number): Buffer => number(4, (buffer) => buffer.writeUInt32LE(value));
const u64 = (value: number | bigint): Buffer => number(8, (buffer) => buffer.writeBigUInt64LE(BigInt(value)));
const f32 = (value: number): Buffer => number(4, (buffer) => buffer.writeFloatLE(value));
const text = (value: string): Buffer => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const list = (itemType: number, items: readonly Buffer[], count: number | bigint = items.length): Buffer =>
  Buffer.concat([u32(itemType), u64(count), ...items]);

/** Entries of every type. */
export const entryOf = {
  text: (key: string, value: string): SketchedEntry => ({ key, type: ggufTypes.text, value: text(value) }),
  u32: (key: string, value: number): SketchedEntry => ({ key, type: ggufTypes.u32, value: u32(value) }),
  f32: (key: string, value: number): SketchedEntry => ({ key, type: ggufTypes.f32, value: f32(value) }),
  u16: (key: string, value: number): SketchedEntry => ({
    key,
    type: ggufTypes.u16,
    value: number(2, (buffer) => buffer.writeUInt16LE(value)),
  }),
  bool: (key: string, value: number): SketchedEntry => ({ key, type: ggufTypes.bool, value: Buffer.of(value) }),
  texts: (key: string, values: readonly string[], count?: bigint): SketchedEntry => ({
    key,
    type: ggufTypes.list,
    value: list(ggufTypes.text, values.map(text), count),
  }),
  f32s: (key: string, values: readonly number[]): SketchedEntry => ({
    key,
    type: ggufTypes.list,
    value: list(ggufTypes.f32, values.map(f32)),
  }),
  u32s: (key: string, values: readonly number[], itemType: number = ggufTypes.i32, count?: bigint): SketchedEntry => ({
    key,
    type: ggufTypes.list,
    value: list(itemType, values.map(u32), count),
  }),
};

const aligned = (length: number): number => Math.ceil(length / alignment) * alignment;

/** The bytes of a sketch; data are small numbers. */
export function encodeSketch(sketch: GgufSketch): Buffer {
  let next = 0n;
  const infos = sketch.tensors.map(({ name, dimensions, type, offset, bytes }) => {
    const info = Buffer.concat([text(name), u32(dimensions.length), ...dimensions.map(u64), u32(type), u64(offset ?? next)]);
    next += BigInt(aligned(bytes));
    return info;
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(sketch.version),
    u64(sketch.tensorCount ?? sketch.tensors.length),
    u64(sketch.entryCount ?? sketch.entries.length),
    ...sketch.entries.flatMap(({ key, type, value }) => [text(key), u32(type), value]),
    ...infos,
  ]);
  const data = sketch.tensors.map(({ bytes }) => Buffer.alloc(aligned(bytes)));
  return Buffer.concat([head, Buffer.alloc(aligned(head.length) - head.length), ...data]);
}

const floats = (name: string, ...dimensions: number[]): SketchedTensor => ({
  name,
  dimensions,
  type: 0,
  bytes: 4 * dimensions.reduce((product, length) => product * length, 1),
});

const vocabulary = 288;
const specials = ['<unk>', '<s>', '</s>'];
const firstByte = specials.length;

const pieceOf = (token: number): string => {
  const byte = token - firstByte;
  if (byte >= 256) return `t${token}`;
  return byte < 0 ? (specials[token] as string) : `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
};

/** Unknown, control, byte, normal. */
const kindOf = (token: number): number => [2, 3, 3][token] ?? (token < firstByte + 256 ? 6 : 1);

/** A llama model of one layer that llama.cpp loads. */
export function sketchModel(): GgufSketch {
  const pieces = Array.from({ length: vocabulary }, (_, token) => pieceOf(token));
  const kinds = pieces.map((_, token) => kindOf(token));
  return {
    version: 3,
    entries: [
      entryOf.text('general.architecture', 'llama'),
      entryOf.text('general.name', 'tiny'),
      entryOf.u32('llama.context_length', 256),
      entryOf.u32('llama.embedding_length', 32),
      entryOf.u32('llama.block_count', 1),
      entryOf.u32('llama.feed_forward_length', 64),
      entryOf.u32('llama.attention.head_count', 2),
      entryOf.u32('llama.attention.head_count_kv', 1),
      entryOf.f32('llama.attention.layer_norm_rms_epsilon', 1e-5),
      entryOf.u32('llama.rope.dimension_count', 16),
      entryOf.text('tokenizer.ggml.model', 'llama'),
      entryOf.texts('tokenizer.ggml.tokens', pieces),
      entryOf.f32s(
        'tokenizer.ggml.scores',
        pieces.map((_, token) => -token),
      ),
      entryOf.u32s('tokenizer.ggml.token_type', kinds),
      entryOf.u32('tokenizer.ggml.bos_token_id', 1),
      entryOf.u32('tokenizer.ggml.eos_token_id', 2),
      entryOf.text('tokenizer.chat_template', '{{ messages[0].content }}'),
    ],
    tensors: [
      floats('token_embd.weight', 32, vocabulary),
      floats('output_norm.weight', 32),
      floats('blk.0.attn_norm.weight', 32),
      floats('blk.0.attn_q.weight', 32, 32),
      floats('blk.0.attn_k.weight', 32, 16),
      floats('blk.0.attn_v.weight', 32, 16),
      floats('blk.0.attn_output.weight', 32, 32),
      floats('blk.0.ffn_norm.weight', 32),
      floats('blk.0.ffn_gate.weight', 32, 64),
      floats('blk.0.ffn_up.weight', 32, 64),
      floats('blk.0.ffn_down.weight', 64, 32),
    ],
  };
}

/** A LoRA adapter for it. */
export function sketchAdapter(): GgufSketch {
  return {
    version: 3,
    entries: [
      entryOf.text('general.type', 'adapter'),
      entryOf.text('general.architecture', 'llama'),
      entryOf.text('adapter.type', 'lora'),
      entryOf.f32('adapter.lora.alpha', 16),
    ],
    tensors: [
      floats('blk.0.attn_q.weight.lora_a', 32, 4),
      floats('blk.0.attn_q.weight.lora_b', 4, 32),
      floats('blk.0.attn_k.weight.lora_a', 32, 4),
      floats('blk.0.attn_k.weight.lora_b', 4, 16),
    ],
  };
}
