import { readModelDescription } from '../../platform/node/index.js';
import { cliError } from '../errors.js';
import { isModelFile } from '../isModelFile.js';
import { openModelRegistry } from '../openModelRegistry.js';
import { resolveModel } from '../resolveModel.js';
import { parseServed } from './parseServed.js';
import type { ModelFile } from './prepareShards.js';

/** A model that shards serve beside their own. */
export type ServedFile = ModelFile & { readonly kind: 'chat' | 'embedding' };

/** The models of `--serve`, found or fetched. `taken`: names that mean another model. Errors: USAGE, MODEL_UNKNOWN, MODEL_INVALID. */
export async function resolveServed(
  asked: readonly string[],
  { taken, signal }: { readonly taken: readonly string[]; readonly signal: AbortSignal },
): Promise<readonly ServedFile[]> {
  const files: ServedFile[] = [];
  for (const text of asked) {
    const { name, model } = parseServed(text);
    const file = await (isModelFile(model) ? ofFile(model, signal) : ofName(model, signal));
    const own = name ?? file.name;
    if ([...taken, ...files.map((one) => one.name)].includes(own))
      throw cliError('USAGE', `--serve ${text}: another model is called ${own}; give it a name of its own with --serve NAME=${model}`);
    files.push({ ...file, name: own });
  }
  return files;
}

const ofName = async (model: string, signal: AbortSignal): Promise<ServedFile> => {
  const { kind } = await openModelRegistry().find(model);
  return { ...(await resolveModel({ nameOrFile: model, kind, signal })), kind };
};

const ofFile = async (path: string, signal: AbortSignal): Promise<ServedFile> => {
  const file = await resolveModel({ nameOrFile: path, kind: 'chat', signal });
  return { ...file, kind: readModelDescription(file.path).isEncoder ? 'embedding' : 'chat' };
};
