import { openModelRegistry } from '../openModelRegistry.js';
import { pullModel } from '../pullModel.js';

/** `ostraka model pull [NAME]`: fetches and verifies; without a name both defaults. */
export async function modelPullCommand(name: string | undefined, options: { readonly json: boolean }): Promise<void> {
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  const known = await openModelRegistry().list();
  const wanted = known.filter((model, i) =>
    name === undefined ? known.findIndex(({ kind }) => kind === model.kind) === i : model.name === name,
  );
  if (name !== undefined && wanted.length === 0) openModelRegistry().find(name, 'chat');
  for (const { name: one, kind } of wanted) {
    const model = await pullModel({ name: one, kind, signal: stopping.signal });
    process.stdout.write(options.json ? `${JSON.stringify(model)}\n` : `${model.name} ${model.path}\n`);
  }
}
