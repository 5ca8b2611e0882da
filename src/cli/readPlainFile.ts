import { readFile, stat } from 'node:fs/promises';

/** The bytes of a file of a user, never of a pipe, a device or a folder, which may not end. Throws an Error in words for the user. */
export async function readPlainFile(path: string, bytesMax: number): Promise<Buffer> {
  const facts = await stat(path);
  if (!facts.isFile()) throw new Error(`${path} is no plain file`);
  if (facts.size > bytesMax) throw new Error(`${path} has ${facts.size} bytes, the limit is ${bytesMax}`);
  return readFile(path);
}
