import { describeBytes } from '../../base/index.js';
import { openModelRegistry } from '../openModelRegistry.js';

/** `ostraka model remove NAME`: the file of a pinned model, which `pull` makes again; an imported one, and one of a hub, is forgotten with its digest. */
export async function modelRemoveCommand(name: string, options: { readonly json: boolean }): Promise<void> {
  const { name: removed, path, bytes, isThere } = await openModelRegistry().remove(name);
  const result = { name: removed, path, bytes: isThere ? bytes : 0, wasThere: isThere };
  const text = isThere ? `${removed}: removed ${path}, ${describeBytes(bytes)}` : `${removed}: its file was not there`;
  process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : `${text}\n`);
}
