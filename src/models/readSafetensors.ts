import { z } from 'zod';
import { utf8 } from '../base/index.js';
import { platformError } from '../platform/index.js';

export interface Tensor {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

const tensorHeader = z.object({
  dtype: z.string(),
  shape: z.array(z.int().min(0)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});

const headerBytesMax = 100_000_000;

export interface Safetensors {
  readonly names: readonly string[];
  /** A copy of a tensor's values. Errors: MODEL_INVALID. */
  read(name: string): Tensor;
}

/**
 * Opens a safetensors file of floats (32-bit, 16-bit, bfloat16); tensors are read by name. Sizes and offsets are checked against the
 * file before use. Errors: MODEL_INVALID.
 */
export function readSafetensors(file: Uint8Array): Safetensors {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const headerBytes = file.length < 8 ? Number.POSITIVE_INFINITY : Number(view.getBigUint64(0, true));
  if (headerBytes > headerBytesMax || 8 + headerBytes > file.length)
    throw platformError('MODEL_INVALID', 'a safetensors file is truncated');
  const header = parseHeader(file.subarray(8, 8 + headerBytes));
  return {
    names: Object.keys(header).filter((name) => name !== '__metadata__'),
    read: (name) => readTensor(name, Object.hasOwn(header, name) ? header[name] : undefined, file.subarray(8 + headerBytes)),
  };
}

const readTensor = (name: string, found: unknown, data: Uint8Array): Tensor => {
  const { success, data: tensor } = tensorHeader.safeParse(found);
  const format = success ? formats.get(tensor.dtype) : undefined;
  if (!success || format === undefined) throw platformError('MODEL_INVALID', `a safetensors file has no tensor of floats ${name}`);
  const [start, end] = tensor.data_offsets;
  const count = tensor.shape.reduce((product, size) => product * size, 1);
  if (end - start !== count * format.bytes || end > data.length)
    throw platformError('MODEL_INVALID', `tensor ${name} lies outside its file`);
  return { shape: tensor.shape, values: format.decode(new Uint8Array(data.subarray(start, end))) };
};

const decodeWords = (bytes: Uint8Array, toFloatBits: (bits: number) => number): Float32Array => {
  const words = new Uint16Array(bytes.buffer);
  return new Float32Array(Uint32Array.from(words, toFloatBits).buffer);
};

/** Bits of a 32-bit float from those of a 16-bit one. */
const widen = (bits: number): number => {
  const sign = (bits & 0x8000) << 16;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return (sign | 0x7f80_0000 | (fraction << 13)) >>> 0;
  if (exponent > 0) return (sign | ((exponent + 112) << 23) | (fraction << 13)) >>> 0;
  if (fraction === 0) return sign >>> 0;
  const shift = Math.clz32(fraction) - 21; // to a leading one at bit 10
  return (sign | ((113 - shift) << 23) | (((fraction << shift) & 1023) << 13)) >>> 0;
};

// What is decoded is a copy, since a view of numbers must start at a multiple of their size.
const formats: ReadonlyMap<string, { readonly bytes: number; readonly decode: (bytes: Uint8Array) => Float32Array }> = new Map([
  ['F32', { bytes: 4, decode: (bytes: Uint8Array) => new Float32Array(bytes.buffer) }],
  ['F16', { bytes: 2, decode: (bytes: Uint8Array) => decodeWords(bytes, widen) }],
  ['BF16', { bytes: 2, decode: (bytes: Uint8Array) => decodeWords(bytes, (bits) => (bits << 16) >>> 0) }],
]);

const parseHeader = (bytes: Uint8Array): { readonly [name: string]: unknown } => {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(utf8.decode(bytes)));
  } catch (error) {
    throw platformError('MODEL_INVALID', 'the header of a safetensors file is damaged', { cause: error });
  }
};
