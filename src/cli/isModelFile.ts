/** Whether a model is given by a file rather than by a name of `model list`. */
export function isModelFile(nameOrFile: string): boolean {
  return nameOrFile.endsWith('.gguf') || nameOrFile.includes('/');
}
