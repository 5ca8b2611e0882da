import { rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { cacheFolder } from './cacheFolder.js';
import { isLockHeld } from './FolderLock.js';
import { startOfProcess } from './startOfProcess.js';
import { writeFileWhole } from './writeFileWhole.js';

const use = z.object({ pid: z.int(), start: z.string(), paths: z.array(z.string()) });

/** Which running clusters of this user use which model files: a small file for each process, gone when it ends; those of dead ones count for nothing. */
export class ModelUses {
  readonly #folder = join(cacheFolder(), 'uses');

  /** Until this process ends. A cache that cannot be written to has no models that could be removed. */
  async claim(paths: readonly string[]): Promise<void> {
    const path = join(this.#folder, `${process.pid}.json`);
    const text = JSON.stringify({ pid: process.pid, start: startOfProcess(process.pid), paths: paths.map((one) => resolve(one)) });
    try {
      await mkdir(this.#folder, { recursive: true });
      await writeFileWhole(path, `${text}\n`, { mode: 0o644 });
      process.once('exit', () => rmSync(path, { force: true }));
    } catch {
      // nothing to protect
    }
  }

  /** Process ids of those that use the file. */
  async of(path: string): Promise<readonly number[]> {
    const files = await readdir(this.#folder).catch((): string[] => []);
    const uses = await Promise.all(files.filter((file) => file.endsWith('.json')).map((file) => this.#read(join(this.#folder, file))));
    return uses.flatMap((one) => (one?.paths.includes(resolve(path)) ? [one.pid] : []));
  }

  async #read(path: string): Promise<z.infer<typeof use> | undefined> {
    const parsed = use.safeParse(await readJson(path));
    if (parsed.success && isLockHeld(parsed.data)) return parsed.data;
    await rm(path, { force: true });
    return undefined;
  }
}

const readJson = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
};
