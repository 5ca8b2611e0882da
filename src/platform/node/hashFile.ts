import { createHash } from 'node:crypto';
import { closeSync, createReadStream } from 'node:fs';
import { openPlainFile } from './openPlainFile.js';

const highWaterMark = 1 << 20;

/** SHA-256 of a plain file, lower-case hex; of one that grows meanwhile, of what there was. Throws as `openPlainFile`. */
export async function hashFile(path: string): Promise<string> {
  const { file, bytes } = openPlainFile(path);
  const hash = createHash('sha256');
  if (bytes === 0) closeSync(file);
  else
    for await (const chunk of createReadStream(path, { fd: file, start: 0, end: bytes - 1, highWaterMark })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
