import { isHubName } from '../models/index.js';

/** Whether a model is given by a file rather than by a name of `model list` or of a hub. */
export function isModelFile(nameOrFile: string): boolean {
  return !isHubName(nameOrFile) && (nameOrFile.endsWith('.gguf') || nameOrFile.includes('/'));
}
