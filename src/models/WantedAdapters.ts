import { toOstrakaError } from '../base/index.js';
import { type AdapterIdentity, adapterKey, type LaunchedEngine, type LoadedAdapter, type Logger } from '../platform/index.js';
import { isLost } from './isLost.js';

interface WantedAdapter {
  readonly path: string;
  readonly adapter: LoadedAdapter;
}

/** The adapters that a shard serves, whichever engine it has: the next one loads them before anyone sees it (R21). */
export class WantedAdapters {
  /** By key: digest and scale. */
  readonly #adapters = new Map<string, WantedAdapter>();
  readonly #logger: Logger;
  readonly #onDropped: () => void;

  /** `onDropped`: an engine did not take one any more, and it is not wanted henceforth. */
  constructor(parts: { readonly logger: Logger; readonly onDropped: () => void }) {
    this.#logger = parts.logger;
    this.#onDropped = parts.onDropped;
  }

  add(path: string, adapter: LoadedAdapter): void {
    this.#adapters.set(adapterKey(adapter), { path, adapter });
  }

  /** False when it is not there. */
  remove(adapter: AdapterIdentity): boolean {
    return this.#adapters.delete(adapterKey(adapter));
  }

  list(): readonly LoadedAdapter[] {
    return [...this.#adapters.values()].map(({ adapter }) => adapter);
  }

  /** Makes a new engine serve these and no others. Errors: ENGINE_LOST, the signal's reason. */
  async loadInto({ modelService }: LaunchedEngine, signal: AbortSignal): Promise<void> {
    for (const [key, { path, adapter }] of this.#adapters) {
      try {
        await modelService.loadAdapter({ path, scale: adapter.scale, digest: adapter.digest }, signal);
      } catch (thrown) {
        if (isLost(thrown) || signal.aborted) throw thrown;
        this.#drop(key, thrown);
      }
    }
    // What was unloaded while the engine loaded it. Each turn frees one; what is loaded anew waits for the engine to be up.
    const unwanted = () => modelService.adapters().find((adapter) => !this.#adapters.has(adapterKey(adapter)));
    for (let adapter = unwanted(); adapter !== undefined; adapter = unwanted()) await modelService.unloadAdapter(adapter, signal);
  }

  #drop(key: string, thrown: unknown): void {
    const { code, message } = toOstrakaError(thrown);
    this.#logger.error('engine.adapter_lost', { adapter: key, code, message });
    this.#adapters.delete(key);
    this.#onDropped();
  }
}
