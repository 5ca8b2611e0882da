import { type ModelDescription, platformError } from '../../index.js';
import { checkGguf } from './checkGguf.js';
import { describeGguf } from './describeGguf.js';
import { readGguf } from './readGguf.js';
import { readModelFile } from './readModelFile.js';

/** What a GGUF file says of itself, checked; reads the description alone, some milliseconds. Errors: MODEL_INVALID. */
export function readModelDescription(path: string): ModelDescription {
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${path}: ${reason}`, { cause });
  return readModelFile(path, refuse, (file) => {
    const contents = readGguf(file);
    checkGguf(contents);
    return describeGguf(contents);
  });
}
