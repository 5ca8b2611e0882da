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

/**
 * Reads 32-bit float tensors of a safetensors file, lazily by name. Sizes and offsets are checked against the file before use.
 * Errors: MODEL_INVALID.
 */
export function readSafetensors(file: Uint8Array): (name: string) => Tensor {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const headerBytes = file.length < 8 ? Number.POSITIVE_INFINITY : Number(view.getBigUint64(0, true));
  if (headerBytes > headerBytesMax || 8 + headerBytes > file.length)
    throw platformError('MODEL_INVALID', 'a safetensors file is truncated');
  const header = parseHeader(file.subarray(8, 8 + headerBytes));
  return (name) => {
    const found = Object.hasOwn(header, name) ? header[name] : header[`bert.${name}`];
    const { success, data: tensor } = tensorHeader.safeParse(found);
    if (!success || tensor.dtype !== 'F32') throw platformError('MODEL_INVALID', `a safetensors file has no 32-bit float tensor ${name}`);
    const [start, end] = tensor.data_offsets;
    const count = tensor.shape.reduce((product, size) => product * size, 1);
    if (end - start !== count * 4 || 8 + headerBytes + end > file.length)
      throw platformError('MODEL_INVALID', `tensor ${name} lies outside its file`);
    // A copy, since a view of floats must start at a multiple of four.
    const bytes = new Uint8Array(file.subarray(8 + headerBytes + start, 8 + headerBytes + end));
    return { shape: tensor.shape, values: new Float32Array(bytes.buffer) };
  };
}

const parseHeader = (bytes: Uint8Array): { readonly [name: string]: unknown } => {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(utf8.decode(bytes)));
  } catch (error) {
    throw platformError('MODEL_INVALID', 'the header of a safetensors file is damaged', { cause: error });
  }
};
