import xxhash from 'xxhash-wasm';

const hasher = await xxhash();
const encoder = new TextEncoder();

/** 64-bit xxHash of a text's UTF-8 or of bytes, as an unsigned bigint. Not for security. */
export function xxh64(input: string | Uint8Array, seed = 0n): bigint {
  return hasher.h64Raw(typeof input === 'string' ? encoder.encode(input) : input, seed);
}
