import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { OstrakaError } from '../../../base/index.js';
import type { ModelDescription } from '../../index.js';
import { checkGguf } from './checkGguf.js';
import { describeGguf } from './describeGguf.js';
import { GgufFault } from './GgufFault.js';
import { type GgufContents, readGguf } from './readGguf.js';
import { readModelFile } from './readModelFile.js';

const chunkBytes = 1 << 20;

/** What is known of a GGUF file once it was read. */
export interface CheckedModelFile {
  /** `general.type`: `model`, `adapter`; undefined in older files. */
  readonly type: string | undefined;
  /** SHA-256, hex. */
  readonly digest: string;
  readonly facts: GgufContents;
  readonly description: ModelDescription;
}

/**
 * Looks at a GGUF file before native code opens it: its form, what its description means, and that every tensor lies inside it; computes
 * its SHA-256, and tells the share of it that is done. `refuse` makes the error of the caller's kind of file. Blocks for the time of reading the file once (145 MB: about 0.2 s).
 */
export function checkModelFile(
  path: string,
  refuse: (reason: string, cause?: unknown) => OstrakaError,
  options: {
    readonly onShare?: (share: number) => void;
    /** What the kind of file needs besides; throws GgufFault. */
    readonly check?: (facts: GgufContents) => void;
  } = {},
): CheckedModelFile {
  return readModelFile(path, refuse, (file) => {
    const facts = readGguf(file);
    checkGguf(facts);
    options.check?.(facts);
    const description = describeGguf(facts);
    return { type: description.type, digest: digestOf(file, facts.fileBytes, options.onShare), facts, description };
  });
}

function digestOf(file: number, bytes: number, onShare: (share: number) => void = () => undefined): string {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(chunkBytes);
  for (let position = 0; position < bytes; ) {
    const read = readSync(file, chunk, 0, Math.min(chunkBytes, bytes - position), position);
    if (read === 0) throw new GgufFault('the file became shorter while it was read');
    hash.update(chunk.subarray(0, read));
    position += read;
    onShare(position / bytes);
  }
  return hash.digest('hex');
}
