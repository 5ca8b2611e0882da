import { type InstalledModel, isHubName, type KnownModel } from '../../models/index.js';
import { openModelRegistry } from '../openModelRegistry.js';
import { pullModel } from '../pullModel.js';
import { showModelProgress } from '../showModelProgress.js';

interface PullFlags {
  readonly hub?: string;
  readonly force: boolean;
  readonly json: boolean;
}

/** `ostraka model pull [NAME]`: fetches and verifies; without a name both defaults. An imported model is verified alone. */
export async function modelPullCommand(name: string | undefined, flags: PullFlags): Promise<void> {
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  if (name !== undefined && isHubName(name)) {
    const work = { name, overwrite: flags.force, signal: stopping.signal };
    print(await showModelProgress((onProgress) => openModelRegistry(flags).pull({ ...work, onProgress })), flags);
    return;
  }
  const registry = openModelRegistry(flags);
  const wanted =
    name === undefined
      ? [await registry.find('default', 'chat'), await registry.find('default', 'embedding')]
      : [await registry.find(name)];
  for (const { name: one, kind } of wanted) print(await pullModel({ name: one, kind, signal: stopping.signal }), flags);
}

/** The digest is what the user may compare, and what later pulls are held to. */
const print = (model: InstalledModel | KnownModel, { json }: PullFlags): void => {
  const digest = 'commit' in model ? `\n  SHA-256 ${model.digest}, commit ${model.commit}` : '';
  process.stdout.write(json ? `${JSON.stringify(model)}\n` : `${model.name} ${model.path}${digest}\n`);
};
