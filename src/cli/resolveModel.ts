import { access } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { platformError } from '../platform/index.js';
import { checkModelFile } from '../platform/node/index.js';
import { cliError } from './errors.js';
import { isModelFile } from './isModelFile.js';
import { pullModel } from './pullModel.js';
import type { ModelFile } from './up/ModelFile.js';

/** A model by file, or by name from the registry or a hub, fetched first if it is not in the cache. Errors: USAGE, MODEL_UNKNOWN, MODEL_INVALID, those of ModelRegistry.ensure. */
export async function resolveModel(request: {
  readonly nameOrFile: string;
  readonly kind: 'chat' | 'embedding';
  readonly hub?: string | undefined;
  readonly signal: AbortSignal;
}): Promise<ModelFile> {
  const { nameOrFile, kind, hub, signal } = request;
  if (!isModelFile(nameOrFile)) return pullModel({ name: nameOrFile, kind, hub, signal });
  const path = resolve(nameOrFile);
  await access(path).catch((error: Error) => {
    throw cliError('USAGE', `cannot read model file ${nameOrFile}: ${error.message}`, { cause: error });
  });
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${nameOrFile}: ${reason}`, { cause });
  const { digest, type } = checkModelFile(path, refuse);
  if (type === 'adapter') throw refuse('it is an adapter: give it with --adapter DOMAIN=FILE');
  return { name: basename(path).replace(/\.gguf$/, ''), path, digest };
}
