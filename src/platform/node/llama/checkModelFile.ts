import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { OstrakaError } from '../../../base/index.js';

const headerBytes = 24;
const chunkBytes = 1 << 20;
// The smallest description of one tensor: name length, a name of one byte, dimensions, one size, type, offset.
const tensorBytesMin = 8 + 1 + 4 + 8 + 4 + 8;

/**
 * Looks at a GGUF file before native code opens it: magic, version, counts that its size can hold; computes its SHA-256 (hex).
 * `refuse` makes the error of the caller's kind of file. Blocks for the time of reading the file once (145 MB: about 0.2 s).
 */
export function checkModelFile(path: string, refuse: (reason: string, cause?: unknown) => OstrakaError): { readonly digest: string } {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (cause) {
    throw refuse('the file cannot be opened', cause);
  }
  try {
    const reason = headerFault(file);
    if (reason !== undefined) throw refuse(reason);
    return { digest: digestOf(file) };
  } finally {
    closeSync(file);
  }
}

function headerFault(file: number): string | undefined {
  const header = Buffer.alloc(headerBytes);
  const { size } = fstatSync(file);
  if (readSync(file, header, 0, headerBytes, 0) < headerBytes) return 'the file is too short for a GGUF header';
  if (header.toString('latin1', 0, 4) !== 'GGUF') return 'the file is not a GGUF file';
  const version = header.readUInt32LE(4);
  if (version !== 2 && version !== 3) return `GGUF version ${version} is not supported (2 and 3 are)`;
  const tensors = header.readBigUInt64LE(8);
  const entries = header.readBigUInt64LE(16);
  if (tensors * BigInt(tensorBytesMin) + entries * 12n > BigInt(size)) return 'the file is shorter than its header says';
  return undefined;
}

function digestOf(file: number): string {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(chunkBytes);
  for (let position = 0; ; ) {
    const read = readSync(file, chunk, 0, chunkBytes, position);
    if (read === 0) return hash.digest('hex');
    hash.update(chunk.subarray(0, read));
    position += read;
  }
}
