import { concatBytes } from '../base/index.js';
import { gguf } from './gguf.js';
import { toHalf } from './toHalf.js';

export interface GgufTensorData {
  readonly name: string;
  /** Innermost first, as ggml counts. */
  readonly dimensions: readonly number[];
  readonly type: 'f32' | 'f16';
  readonly values: Float32Array;
}

/** A whole GGUF file, version 3; `metadata` are entries made by `gguf.metadata`. The same content gives the same bytes. */
export function encodeGguf(file: { readonly metadata: readonly Uint8Array[]; readonly tensors: readonly GgufTensorData[] }): Uint8Array {
  const { metadata, tensors } = file;
  const bodies = tensors.map(({ values, type }) => (type === 'f32' ? bytesOf(values) : halves(values)));
  let offset = 0;
  const infos = tensors.map(({ name, dimensions, type }, i) => {
    const info = [
      gguf.text(name),
      gguf.u32(dimensions.length),
      ...dimensions.map(gguf.u64),
      gguf.u32(gguf.tensorTypes[type]),
      gguf.u64(offset),
    ];
    const { length } = bodies[i] as Uint8Array;
    offset += length + gguf.padding(length).length;
    return concatBytes(info);
  });
  const head = concatBytes([
    Uint8Array.of(0x47, 0x47, 0x55, 0x46),
    gguf.u32(3),
    gguf.u64(tensors.length),
    gguf.u64(metadata.length),
    ...metadata,
    ...infos,
  ]);
  return concatBytes([head, gguf.padding(head.length), ...bodies.flatMap((body) => [body, gguf.padding(body.length)])]);
}

const bytesOf = (values: Float32Array): Uint8Array => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

const halves = (values: Float32Array): Uint8Array => {
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) bits[i] = toHalf(values[i] as number);
  return new Uint8Array(bits.buffer);
};
