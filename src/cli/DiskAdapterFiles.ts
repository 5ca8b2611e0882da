import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { type AdapterFile, type AdapterFiles, platformError, type SavedAdapter } from '../platform/index.js';
import { hashFile } from '../platform/node/index.js';
import { cliError } from './errors.js';
import { readFigures } from './up/readFigures.js';
import { writeFileWhole } from './writeFileWhole.js';

const savedList = z
  .array(
    z.object({
      domain: z.string().min(1).max(128),
      path: z.string().min(1),
      digest: z.string().regex(/^[0-9a-f]{64}$/),
      scale: z.number().min(0).max(100),
      accuracyDelta: z.number().min(-1).max(1).exactOptional(),
    }),
  )
  .max(256);

/**
 * Adapter files on this machine. With a folder only what lies below it may be loaded, links followed; without one any absolute path may:
 * a shard without an API key listens on loopback alone, so whoever asks is on this machine or has the key. Never opens what is no plain
 * file: a pipe would hold the reader for ever.
 */
export class DiskAdapterFiles implements AdapterFiles {
  readonly #folder: string | undefined;
  readonly #listFile: string;
  readonly #bytesMax: number;

  constructor(options: { readonly folder: string | undefined; readonly listFile: string; readonly bytesMax: number }) {
    this.#folder = options.folder;
    this.#listFile = options.listFile;
    this.#bytesMax = options.bytesMax;
  }

  async describe(asked: string): Promise<AdapterFile> {
    const path = await this.#locate(asked);
    const refuse = (reason: string, cause?: unknown) => platformError('ADAPTER_INVALID', `adapter ${path}: ${reason}`, { cause });
    const facts = await stat(path).catch((cause: NodeJS.ErrnoException) => {
      throw refuse(`the file cannot be opened (${cause.code})`, cause);
    });
    if (!facts.isFile()) throw refuse('it is no plain file');
    if (facts.size === 0) throw refuse('it is empty'); // as files of the kernel say, some of which never end or make the reader wait
    if (facts.size > this.#bytesMax) throw refuse(`it has ${facts.size} bytes, the limit is ${this.#bytesMax}`);
    try {
      const digest = await hashFile(path);
      return { path, digest, figures: await readFigures(path, digest) };
    } catch (cause) {
      throw refuse((cause as Error).message, cause);
    }
  }

  async readSaved(): Promise<readonly SavedAdapter[]> {
    const text = await readFile(this.#listFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '[]';
      throw error;
    });
    try {
      return savedList.parse(JSON.parse(text));
    } catch (cause) {
      throw cliError('CONFIG_INVALID', `${this.#listFile} is not what Ostraka wrote there; remove it and load the adapters again`, {
        cause,
      });
    }
  }

  async writeSaved(adapters: readonly SavedAdapter[]): Promise<void> {
    await writeFileWhole(this.#listFile, `${JSON.stringify(adapters, undefined, 2)}\n`, { mode: 0o600 });
  }

  /** Looks at the text of a path first: the answer to one outside tells nothing of what is there. */
  async #locate(asked: string): Promise<string> {
    const refused = (reason: string) => platformError('ADAPTER_PATH_REFUSED', `adapter path ${asked}: ${reason}`);
    if (this.#folder === undefined) {
      if (!isAbsolute(asked)) throw refused('give an absolute path of the shard’s machine');
      return resolve(asked);
    }
    const outside = refused('it does not lie below the folder that adapters may be loaded from');
    const wanted = resolve(this.#folder, asked);
    if (!isBelow(this.#folder, wanted)) throw outside;
    const [folder, real] = await Promise.all([this.#folder, wanted].map((path) => realpath(path).catch(() => undefined)));
    if (real === undefined || folder === undefined) return wanted; // nothing there: that is said when it is opened
    if (!isBelow(folder, real)) throw outside;
    return real;
  }
}

const isBelow = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};
