import { openModelRegistry } from '../openModelRegistry.js';
import { pullModel } from '../pullModel.js';

/** `ostraka model pull [NAME]`: fetches and verifies; without a name both defaults. An imported model is verified alone. */
export async function modelPullCommand(name: string | undefined, options: { readonly json: boolean }): Promise<void> {
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  const registry = openModelRegistry();
  const wanted =
    name === undefined
      ? [await registry.find('default', 'chat'), await registry.find('default', 'embedding')]
      : [await registry.find(name)];
  for (const { name: one, kind } of wanted) {
    const model = await pullModel({ name: one, kind, signal: stopping.signal });
    process.stdout.write(options.json ? `${JSON.stringify(model)}\n` : `${model.name} ${model.path}\n`);
  }
}
