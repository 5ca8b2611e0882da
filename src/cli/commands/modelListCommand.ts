import { openModelRegistry } from '../openModelRegistry.js';

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
