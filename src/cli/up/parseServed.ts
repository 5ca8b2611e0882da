import { cliError } from '../errors.js';

/** `[NAME=]MODEL` of `--serve`: what requests call the model, where that is not its own name. A `=` behind a `/` belongs to a path. Errors: USAGE. */
export function parseServed(text: string): { readonly name: string | undefined; readonly model: string } {
  const found = /^([^/=]*)=(.*)$/s.exec(text);
  const [name, model] = found ? [found[1] as string, found[2] as string] : [undefined, text];
  if (model === '' || name === '') throw cliError('USAGE', `--serve ${text}: give a model, or NAME=MODEL`);
  return { name, model };
}
