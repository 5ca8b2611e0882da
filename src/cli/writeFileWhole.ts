import { rename, writeFile } from 'node:fs/promises';

/**
 * Writes a small file whole or not at all: its bytes are on the disk before it has its name. Written plainly, a file may be there and
 * empty after a power cut, and what it says of the data beside it is lost.
 */
export async function writeFileWhole(path: string, text: string, options: { readonly mode: number }): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: options.mode, flush: true });
  await rename(temporary, path);
}
