import { platformError } from '../platform/index.js';

const form = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** The name of an imported model: a file name everywhere, no name that means another model, none that is read as a file. Errors: MODEL_NAME_INVALID. */
export function checkModelName(name: string, reserved: readonly string[]): void {
  const refuse = (reason: string) => platformError('MODEL_NAME_INVALID', `a model cannot be named ${JSON.stringify(name)}: ${reason}`);
  if (!form.test(name)) throw refuse('1 to 64 small letters, digits, ".", "-", "_", beginning with a letter or digit');
  if (name.endsWith('.gguf')) throw refuse('what ends in .gguf is taken for a file');
  if (reserved.includes(name)) throw refuse('the name is taken by a model that Ostraka knows');
}
