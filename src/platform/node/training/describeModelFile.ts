import { platformError } from '../../index.js';
import { readGguf } from '../llama/readGguf.js';
import { readModelFile } from '../llama/readModelFile.js';
import { describeLlama, type LlamaDescription } from './describeLlama.js';

/** The shape of a model that can be trained, from the description in its file; the weights are not read. Errors: MODEL_INVALID. */
export function describeModelFile(path: string): LlamaDescription {
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${path}: ${reason}`, { cause });
  return describeLlama(readModelFile(path, refuse, readGguf), refuse);
}
