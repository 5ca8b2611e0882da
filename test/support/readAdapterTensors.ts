import { closeSync, openSync, readSync } from 'node:fs';
import { readGguf } from '../../src/platform/node/llama/readGguf.js';
import type { AdapterTensor } from '../../src/training/index.js';

/** The matrices of an adapter file of 16-bit floats. */
export function readAdapterTensors(path: string): readonly AdapterTensor[] {
  const file = openSync(path, 'r');
  try {
    return readGguf(file).tensors.map(({ name, dimensions, bytes, at }) => {
      const buffer = Buffer.alloc(bytes);
      readSync(file, buffer, 0, bytes, at);
      const [columns, rows] = dimensions as readonly [number, number];
      return { name, columns, rows, values: Float32Array.from({ length: bytes / 2 }, (_, i) => halfOf(buffer.readUInt16LE(2 * i))) };
    });
  } finally {
    closeSync(file);
  }
}

const halfOf = (bits: number): number => {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
};
