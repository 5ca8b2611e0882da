import { openModelRegistry } from '../openModelRegistry.js';
import { printTable } from '../printTable.js';

/** `ostraka model list`: the models known by name, pinned and imported, and whether they are on this machine. */
export async function modelListCommand(options: { readonly json: boolean }): Promise<void> {
  const models = await openModelRegistry().list();
  const rows = models.map(({ isThere, path, ...model }) => ({ ...model, path: isThere ? path : null }));
  if (options.json) {
    process.stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
    return;
  }
  printTable(
    rows.map(({ name, kind, bytes, origin, licence, path }) => [
      name,
      kind,
      `${(bytes / 1e6).toFixed(0)} MB`,
      licence ?? origin,
      path ?? (origin === 'pinned' ? 'not fetched' : 'gone'),
    ]),
  );
}
