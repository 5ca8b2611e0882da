import { isHubName } from '../../models/index.js';
import { readModelDescription } from '../../platform/node/index.js';
import { cliError } from '../errors.js';
import { isModelFile } from '../isModelFile.js';
import { openModelRegistry } from '../openModelRegistry.js';
import { resolveModel } from '../resolveModel.js';
import { showModelProgress } from '../showModelProgress.js';
import { parseServed } from './parseServed.js';
import type { ServedFile } from './ServedFile.js';

/** The models of `--serve`, found or fetched. `taken`: names that mean another model. Errors: USAGE, MODEL_UNKNOWN, MODEL_INVALID. */
export async function resolveServed(
  asked: readonly string[],
  { taken, ...work }: { readonly taken: readonly string[] } & Work,
): Promise<readonly ServedFile[]> {
  const files: ServedFile[] = [];
  for (const text of asked) {
    const { name, model } = parseServed(text);
    const file = await (isModelFile(model) ? ofFile(model, work) : ofName(model, work));
    const own = name ?? file.name;
    if ([...taken, ...files.map((one) => one.name)].includes(own))
      throw cliError('USAGE', `--serve ${text}: another model is called ${own}; give it a name of its own with --serve NAME=${model}`);
    files.push({ ...file, name: own });
  }
  return files;
}

interface Work {
  readonly hub: string | undefined;
  readonly signal: AbortSignal;
}

/** Of what kind a model of a hub is, its file tells. */
const ofName = async (model: string, work: Work): Promise<ServedFile> => {
  const registry = openModelRegistry(work);
  const { kind } =
    !isHubName(model) || (await registry.has(model))
      ? await registry.find(model)
      : await showModelProgress((onProgress) => registry.pull({ name: model, overwrite: false, signal: work.signal, onProgress }));
  return { ...(await resolveModel({ nameOrFile: model, kind, ...work })), kind };
};

const ofFile = async (path: string, work: Work): Promise<ServedFile> => {
  const file = await resolveModel({ nameOrFile: path, kind: 'chat', ...work });
  return { ...file, kind: readModelDescription(file.path).isEncoder ? 'embedding' : 'chat' };
};
