import { concatBytes, utf8 } from '../base/index.js';

const u32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
};

const u64 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes;
};

const f32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return bytes;
};

const text = (value: string): Uint8Array => {
  const bytes = utf8.encode(value);
  return concatBytes([u64(bytes.length), bytes]);
};

const entry = (key: string, type: number, value: Uint8Array): Uint8Array => concatBytes([text(key), u32(type), value]);

/** Encoders of the GGUF format, version 3 (little-endian): metadata entries by type, and the numbers tensors need. */
export const gguf = {
  u32,
  u64,
  text,
  alignment: 32,
  tensorTypes: { f32: 0, f16: 1 },
  metadata: {
    text: (key: string, value: string) => entry(key, 8, text(value)),
    u32: (key: string, value: number) => entry(key, 4, u32(value)),
    f32: (key: string, value: number) => entry(key, 6, f32(value)),
    bool: (key: string, value: boolean) => entry(key, 7, Uint8Array.of(value ? 1 : 0)),
    texts: (key: string, values: readonly string[]) => entry(key, 9, concatBytes([u32(8), u64(values.length), ...values.map(text)])),
    i32s: (key: string, values: Int32Array) => entry(key, 9, concatBytes([u32(5), u64(values.length), new Uint8Array(values.buffer)])),
  },
  /** Zero bytes up to the next multiple of the alignment. */
  padding: (length: number): Uint8Array => new Uint8Array((32 - (length % 32)) % 32),
};
