import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { platformError } from '../../index.js';
import { ggmlTypes } from './ggmlTypes.js';
import { readGguf } from './readGguf.js';
import { readModelFile } from './readModelFile.js';

/**
 * SHA-256 over the names and values of a model's norms, hex. They stay floats of 32 bits in every quantisation of a model and change as
 * soon as it is trained on: equal where an adapter of the one fits the other. Undefined of a model without norms. Errors: MODEL_INVALID.
 */
export function readBaseFingerprint(path: string): string | undefined {
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${path}: ${reason}`, { cause });
  return readModelFile(path, refuse, (file) => {
    const { tensors } = readGguf(file);
    const norms = tensors.filter(({ name, type }) => name.endsWith('_norm.weight') && ggmlTypes.get(type)?.name === 'f32');
    if (norms.length === 0) return undefined;
    const hash = createHash('sha256');
    for (const { name, at, bytes } of norms.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
      const values = Buffer.alloc(bytes);
      readSync(file, values, 0, bytes, at);
      hash.update(`${name}\n`).update(values);
    }
    return hash.digest('hex');
  });
}
