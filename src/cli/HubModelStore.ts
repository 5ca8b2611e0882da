import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { sha256Hex, utf8 } from '../base/index.js';
import type { HubCache, HubFetch, HubModel, ModelWork } from '../models/index.js';
import { platformError } from '../platform/index.js';
import { type CheckedModelFile, checkModelFile, hashFile } from '../platform/node/index.js';
import { isLockHeld } from './FolderLock.js';
import { startOfProcess } from './startOfProcess.js';
import { syncFile } from './syncFile.js';
import { writeFileWhole } from './writeFileWhole.js';

const recordName = 'record.json';
const lockName = 'pull.lock';
const partialPrefix = 'partial-';

const record = z.object({
  name: z.string(),
  kind: z.enum(['chat', 'embedding']),
  digest: z.string(),
  bytes: z.number(),
  commit: z.string(),
  fileName: z.string(),
});
const lock = z.object({ pid: z.int(), start: z.string() });

/**
 * HubCache on disk: a folder for each model, with its file, its record, and while it is pulled the part that has come, under the commit it
 * belongs to: a later pull goes on with it.
 */
export class HubModelStore implements HubCache {
  readonly #folder: string;
  readonly #freeBytes: (folder: string) => Promise<number>;

  constructor(options: { readonly folder: string; readonly freeBytes: (folder: string) => Promise<number> }) {
    this.#folder = options.folder;
    this.#freeBytes = options.freeBytes;
  }

  pathOf(fileName: string): string {
    return join(this.#folder, fileName);
  }

  async fetched(): Promise<readonly HubModel[]> {
    const folders = await readdir(this.#folder).catch((): string[] => []);
    const models = await Promise.all(folders.sort().map((folder) => readRecord(join(this.#folder, folder, recordName))));
    return models.filter((model) => model !== undefined).sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  async isWhole({ fileName, digest, bytes }: HubModel): Promise<boolean> {
    const path = this.pathOf(fileName);
    const size = await stat(path).then(
      (found) => found.size,
      () => undefined,
    );
    return size === bytes && (await hashFile(path)) === digest;
  }

  async record(model: HubModel): Promise<void> {
    await writeFileWhole(join(this.#folderOf(model.name), recordName), `${JSON.stringify(model)}\n`, { mode: 0o644 });
  }

  /** With all that is known of it. */
  async remove(name: string): Promise<void> {
    await rm(this.#folderOf(name), { recursive: true, force: true });
  }

  async fetch(request: HubFetch & ModelWork): Promise<HubModel> {
    const folder = this.#folderOf(request.name);
    await mkdir(folder, { recursive: true });
    const unlock = await lockPull(join(folder, lockName), request.name);
    try {
      return await this.#fetchInto(folder, request);
    } finally {
      await unlock();
    }
  }

  async #fetchInto(folder: string, request: HubFetch & ModelWork): Promise<HubModel> {
    const partial = join(folder, `${partialPrefix}${request.commit}`);
    await sweep(folder, basename(partial));
    const isResumed = await stat(partial).then(
      ({ size }) => size > 0,
      () => false,
    );
    const checked = await this.#fetchPart(partial, request).catch(async (error: unknown) => {
      if (!isResumed || (error as { readonly code?: string }).code !== 'MODEL_INVALID') throw error;
      return this.#fetchPart(partial, request); // what was left of another pull may have been damaged: once more, from the beginning
    });
    const { digest, description } = checked;
    const fileName = join(basename(folder), `${fileNameOf(request.name)}.gguf`);
    const kind = description.isEncoder ? ('embedding' as const) : ('chat' as const);
    const model = { name: request.name, kind, digest, bytes: description.fileBytes, commit: request.commit, fileName };
    await syncFile(partial);
    await rename(partial, this.pathOf(fileName));
    await this.record(model);
    return model;
  }

  /** What fails the check is not kept: it would only be checked again. */
  async #fetchPart(partial: string, request: HubFetch & ModelWork): Promise<CheckedModelFile> {
    const { name, onProgress, signal, download } = request;
    try {
      await download({
        to: partial,
        freeBytes: () => this.#freeBytes(this.#folder),
        signal,
        onProgress: (done, total) => onProgress({ model: name, phase: 'download', done, total: total ?? done }),
      });
      const { size } = await stat(partial);
      onProgress({ model: name, phase: 'verify', done: 0, total: size });
      const checked = checkFetched(partial, request);
      onProgress({ model: name, phase: 'verify', done: size, total: size });
      return checked;
    } catch (error) {
      const code = (error as { readonly code?: string }).code;
      if (code === 'MODEL_INVALID' || code === 'MODEL_CHANGED') await rm(partial, { force: true });
      throw error;
    }
  }

  #folderOf(name: string): string {
    return join(this.#folder, sha256Hex(utf8.encode(name)).slice(0, 32));
  }
}

const fileNameOf = (name: string): string => basename(name.replace(/@[^@]*$/, '')).replace(/\.gguf$/, '');

const checkFetched = (path: string, { name, offered, recorded }: HubFetch): CheckedModelFile => {
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${name}: ${reason}`, { cause });
  const checked = checkModelFile(path, refuse);
  const { digest, description } = checked;
  if (offered !== undefined && digest !== offered) throw refuse(`what came has SHA-256 ${digest}, the hub tells ${offered}`);
  if (recorded !== undefined && digest !== recorded)
    throw platformError(
      'MODEL_CHANGED',
      `${name} had SHA-256 ${recorded} when it was first pulled and has ${digest} now: --force takes the new one`,
      {
        data: { recorded, found: digest },
      },
    );
  if (description.type === 'adapter') throw refuse('it is an adapter: `ostraka adapter load` takes it');
  return checked;
};

const readRecord = async (path: string): Promise<HubModel | undefined> => {
  try {
    return record.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined; // not pulled to its end, or damaged: it is pulled anew
  }
};

/** Parts of other commits are of no use any more. */
const sweep = async (folder: string, kept: string): Promise<void> => {
  const parts = (await readdir(folder)).filter((name) => name.startsWith(partialPrefix) && name !== kept);
  await Promise.all(parts.map((name) => rm(join(folder, name), { force: true })));
};

/** One process pulls a model at a time; a lock of a dead one counts for nothing. */
const lockPull = async (path: string, name: string): Promise<() => Promise<void>> => {
  const text = JSON.stringify({ pid: process.pid, start: startOfProcess(process.pid) });
  for (let attempt = 0; attempt < 2; attempt++) {
    const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return undefined;
    });
    if (file !== undefined) {
      await file.writeFile(text);
      await file.close();
      return () => rm(path, { force: true });
    }
    const holder = lock.safeParse(parseJson(await readFile(path, 'utf8').catch(() => '')));
    if (holder.success && isLockHeld(holder.data))
      throw platformError('MODEL_IN_USE', `process ${holder.data.pid} is pulling ${name}`, { data: { pids: [holder.data.pid] } });
    await rm(path, { force: true });
  }
  throw platformError('MODEL_IN_USE', `another process is pulling ${name}`);
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
