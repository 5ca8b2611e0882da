import type { OstrakaError } from '../base/index.js';
import { type HubDownload, type ModelHub, platformError } from '../platform/index.js';
import { chooseHubFile } from './chooseHubFile.js';
import type { HubModel } from './HubModel.js';
import type { ModelWork } from './ModelWork.js';
import { parseHubName } from './parseHubName.js';
import { planPull } from './planPull.js';
import { writeHubName } from './writeHubName.js';

/** One file to fetch, and what it must turn out to be. */
export interface HubFetch {
  readonly name: string;
  readonly commit: string;
  /** Its SHA-256 as the hub tells it. */
  readonly offered: string | undefined;
  /** Its SHA-256 as it was recorded; undefined: at the first pull, or where it may be another one. */
  readonly recorded: string | undefined;
  readonly download: (request: HubDownload) => Promise<void>;
}

/** Files of hub models on this machine. */
export interface HubCache {
  /** With what was recorded of them. */
  fetched(): Promise<readonly HubModel[]>;
  /** Whether the file of a model is here and what its record says. */
  isWhole(model: HubModel): Promise<boolean>;
  /** Downloads a file, checks it, gives it its name and writes its record. Errors: MODEL_INVALID, MODEL_CHANGED, STORE_FULL, MODEL_IN_USE (another process pulls it). */
  fetch(request: HubFetch & ModelWork): Promise<HubModel>;
  /** Writes what is known of a model anew. */
  record(model: HubModel): Promise<void>;
}

/**
 * Models by their name on a hub (R18): what the first pull of a name brings is recorded with its digest; a later one that would bring other
 * bytes is refused unless it is told to take them. The hub is untrusted: its file is checked before it gets its name.
 */
export class HubPuller {
  readonly #hub: ModelHub | undefined;
  readonly #cache: HubCache;

  constructor(parts: { readonly hub: ModelHub | undefined; readonly cache: HubCache }) {
    this.#hub = parts.hub;
    this.#cache = parts.cache;
  }

  /**
   * `beforeReplacing` may refuse. Errors: HUB_UNKNOWN, MODEL_NAME_INVALID, MODEL_FILE_UNCLEAR, MODEL_CHANGED, those of ModelHub and
   * HubCache.
   */
  async pull(
    request: {
      readonly name: string;
      readonly overwrite: boolean;
      readonly beforeReplacing: (model: HubModel) => Promise<void>;
    } & ModelWork,
  ): Promise<HubModel> {
    const { overwrite, signal, onProgress } = request;
    const hub = this.#hub;
    const asked = parseHubName(request.name);
    if (hub === undefined)
      throw platformError('HUB_UNKNOWN', `no hub is known to fetch ${request.name} from: set HF_ENDPOINT or give --hub URL`);
    const { commit, files } = await hub.list(asked, signal);
    const file = chooseHubFile(asked, files);
    const place = { owner: asked.owner, repository: asked.repository, commit, file };
    const name = writeHubName({ ...asked, file });
    const known = (await this.#cache.fetched()).find((one) => one.name === name);
    const isWhole = known !== undefined && (await this.#cache.isWhole(known));
    const offer = await hub.look(place, signal);
    const plan = planPull({ known, isWhole, commit, offer, overwrite });
    if (known !== undefined && plan === 'changed') throw changed(known, offer.digest as string);
    if (known !== undefined && plan === 'keep') return this.#keep(known, commit);
    if (known !== undefined) await request.beforeReplacing(known);
    return this.#cache.fetch({
      name,
      commit,
      offered: offer.digest,
      recorded: overwrite ? undefined : known?.digest,
      download: (download) => hub.download(place, download),
      signal,
      onProgress,
    });
  }

  async #keep(known: HubModel, commit: string): Promise<HubModel> {
    if (known.commit === commit) return known;
    const moved = { ...known, commit };
    await this.#cache.record(moved);
    return moved;
  }
}

const changed = ({ name, digest }: HubModel, found: string): OstrakaError =>
  platformError(
    'MODEL_CHANGED',
    `${name} had SHA-256 ${digest} when it was first pulled and has ${found} now: --force takes the new one, @REVISION names a fixed one`,
    { data: { recorded: digest, found } },
  );
