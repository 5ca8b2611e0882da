import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { KnownModel } from '../../models/index.js';
import { cliError } from '../errors.js';
import { openModelRegistry } from '../openModelRegistry.js';
import { showModelProgress } from '../showModelProgress.js';

/** `ostraka model import FILE --name NAME`: a GGUF file, checked and copied into the cache, where `up --model NAME` finds it. */
export async function modelImportCommand(
  file: string,
  options: { readonly name: string; readonly force: boolean; readonly json: boolean },
): Promise<void> {
  const from = resolve(file);
  await access(from).catch((error: Error) => {
    throw cliError('USAGE', `cannot read model file ${file}: ${error.message}`, { cause: error });
  });
  const { signal } = new AbortController(); // Ctrl-C ends the process; the next import takes what it left away
  const model = await showModelProgress((onProgress) =>
    openModelRegistry().import({ from, name: options.name, overwrite: options.force, signal, onProgress }),
  );
  process.stdout.write(options.json ? `${JSON.stringify(model)}\n` : `${text(model)}\n`);
}

const text = ({ name, kind, digest, path }: KnownModel): string =>
  `${name}: ${kind} model, SHA-256 ${digest}, ${path}\nUse it with: ostraka up --${kind === 'chat' ? 'model' : 'embedding-model'} ${name}`;
