import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { assert } from '../src/base/index.js';

/** The model file that an environment variable names. */
export function modelFile(variable: string): { readonly name: string; readonly path: string; readonly digest: string } {
  const path = process.env[variable];
  assert(path !== undefined, `${variable} names a model file`);
  return { name: 'bench', path, digest: createHash('sha256').update(readFileSync(path)).digest('hex') };
}
