import { GgufFault } from './GgufFault.js';
import { GgufReading } from './GgufReading.js';
import { readBaseFingerprint } from './readBaseFingerprint.js';
import type { GgufContents } from './readGguf.js';

/** The model that an adapter is to be added to. */
export interface AdapterBase {
  readonly path: string;
  /** SHA-256 of its file, hex. */
  readonly digest: string;
}

/**
 * What native code cannot tell of an adapter whose names and shapes fit, by what the file says of itself: that it was made for other
 * weights, or that nobody turned the rows of its queries and keys as llama models in GGUF have them. Both load without an error and answer
 * worse. The values do not tell: neither the lengths of the rows nor their directions, nor how they go with the model's, differ enough
 * between the two orders. A file that says nothing is taken. Errors: GgufFault.
 */
export function checkAdapterOrigin(contents: GgufContents, base: AdapterBase): void {
  const reading = new GgufReading(contents);
  if (reading.text('general.type') !== 'adapter') return; // that is said of it by itself
  checkBase(reading, base);
  const order = reading.text('ostraka.adapter.row_order');
  if (order !== undefined && order !== 'gguf')
    throw new GgufFault(`the rows of its queries and keys have the order "${order}": make the file with \`ostraka adapter import\``);
}

/** Another quantisation of the model is the same base. */
function checkBase(reading: GgufReading, { path, digest }: AdapterBase): void {
  const stated = reading.text('ostraka.adapter.base_digest');
  if (stated === undefined || stated === digest) return;
  const fingerprint = reading.text('ostraka.adapter.base_fingerprint');
  if (fingerprint !== undefined && fingerprint === readBaseFingerprint(path)) return;
  throw new GgufFault(`it was made for another model, of SHA-256 ${stated}; the one that is served has ${digest}`);
}
