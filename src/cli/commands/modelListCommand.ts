import { openModelRegistry } from '../openModelRegistry.js';
import { printTable } from '../printTable.js';

// Of a SHA-256: enough to tell two files apart by eye; `--json` and `model show` have all of it.
const digestShown = 12;

/** `ostraka model list`: the models known by name, pinned, imported and of a hub, with their digests, and whether they are on this machine. */
export async function modelListCommand(options: { readonly json: boolean }): Promise<void> {
  const models = await openModelRegistry().list();
  const rows = models.map(({ isThere, path, ...model }) => ({ ...model, path: isThere ? path : null }));
  if (options.json) {
    process.stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
    return;
  }
  printTable(
    rows.map(({ name, kind, bytes, digest, origin, licence, path }) => [
      name,
      kind,
      `${(bytes / 1e6).toFixed(0)} MB`,
      licence ?? origin,
      digest.slice(0, digestShown),
      path ?? (origin === 'pinned' ? 'not fetched' : 'gone'),
    ]),
  );
}
