import { readFile } from 'node:fs/promises';
import { packageFolder } from './packageFolder.js';

/** Version of the package that runs. */
export async function productVersion(): Promise<string> {
  const text = await readFile(new URL('package.json', packageFolder), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
