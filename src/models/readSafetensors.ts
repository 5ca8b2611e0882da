import { utf8 } from '../base/index.js';
import { platformError } from '../platform/index.js';

export interface Tensor {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

interface TensorHeader {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

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
  const header = JSON.parse(utf8.decode(file.subarray(8, 8 + headerBytes))) as { readonly [name: string]: TensorHeader };
  return (name) => {
    const found = Object.hasOwn(header, name) ? header[name] : header[`bert.${name}`];
    if (found?.dtype !== 'F32') throw platformError('MODEL_INVALID', `a safetensors file has no 32-bit float tensor ${name}`);
    const [start, end] = found.data_offsets;
    const count = found.shape.reduce((product, size) => product * size, 1);
    if (end - start !== count * 4 || 8 + headerBytes + end > file.length)
      throw platformError('MODEL_INVALID', `tensor ${name} lies outside its file`);
    // A copy, since a view of floats must start at a multiple of four.
    const bytes = new Uint8Array(file.subarray(8 + headerBytes + start, 8 + headerBytes + end));
    return { shape: found.shape, values: new Float32Array(bytes.buffer) };
  };
}
