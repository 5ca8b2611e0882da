import { openModelRegistry } from '../openModelRegistry.js';
import { pullModel } from '../pullModel.js';

/** `ostraka model list`: the models known by name and whether they are on this machine. */
export async function modelListCommand(options: { readonly json: boolean }): Promise<void> {
  const models = await openModelRegistry().list();
  const rows = models.map(({ name, kind, bytes, digest, path, source }) => ({
    name,
    kind,
    bytes,
    digest,
    licence: source.licence,
    path: path ?? null,
  }));
  if (options.json) {
    process.stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
    return;
  }
  for (const { name, kind, bytes, licence, path } of rows) {
    process.stdout.write(
      `${name.padEnd(24)} ${kind.padEnd(10)} ${(bytes / 1e6).toFixed(0).padStart(5)} MB  ${licence}  ${path ?? 'not fetched'}\n`,
    );
  }
}

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
