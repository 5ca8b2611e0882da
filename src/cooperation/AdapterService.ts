import { assert, baseError, type OstrakaError, toAbortError, toOstrakaError } from '../base/index.js';
import type { AdapterCapabilityAnnouncement, TopologyView } from '../membership/index.js';
import {
  type AdapterFigures,
  type AdapterFiles,
  type AdapterIdentity,
  adapterKey,
  type Clock,
  type Logger,
  platformError,
  type SavedAdapter,
} from '../platform/index.js';
import { fitsAdapter } from '../routing/index.js';
import type { AdapterPublisher } from './AdapterPublisher.js';
import { adapterNamed } from './adapterNamed.js';
import { ambiguousAdapter } from './ambiguousAdapter.js';
import { checkAdapterLoad } from './checkAdapterLoad.js';
import { cooperationError } from './errors.js';
import type { CooperationOptions } from './options.js';
import type { ProgressRegistry } from './progress/ProgressRegistry.js';

/** What a client may say of an adapter to load. */
export interface AdapterLoad {
  readonly domain: string;
  readonly path: string;
  readonly scale: number;
  /** Declared; absent = the evaluation beside the file. */
  readonly accuracyDelta?: number;
}

/** What an unload took away. */
export interface UnloadedAdapter extends AdapterIdentity {
  readonly domain: string;
}

/**
 * Adapters of this shard at run time (R21): load, unload, and load again after a restart. Changes run one after another, each to its end
 * even when its client leaves, so that engine, announcements and saved list agree. Never looks at other shards' adapters but to say who
 * has one.
 */
export class AdapterService {
  readonly #publisher: AdapterPublisher;
  readonly #files: AdapterFiles;
  readonly #topology: () => TopologyView;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: CooperationOptions;
  readonly #progress: Pick<ProgressRegistry, 'start'>;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #saved: readonly SavedAdapter[] | undefined;

  constructor(parts: {
    readonly publisher: AdapterPublisher;
    readonly files: AdapterFiles;
    readonly topology: () => TopologyView;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly options: CooperationOptions;
    readonly progress: Pick<ProgressRegistry, 'start'>;
  }) {
    this.#publisher = parts.publisher;
    this.#files = parts.files;
    this.#topology = parts.topology;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#options = parts.options;
    this.#progress = parts.progress;
  }

  /**
   * Resolves when the engine has the adapter and every shard that can be reached knows of it. The same file, domain and scale again change nothing but the
   * figures. Errors: ADAPTER_PATH_REFUSED, ADAPTER_INVALID, ADAPTER_DOMAIN_TAKEN, ADAPTERS_FULL, ADAPTERS_BUSY, ADAPTER_IN_USE (it is
   * being unloaded), ENGINE_LOADING, DEADLINE_EXCEEDED.
   */
  load(asked: AdapterLoad, signal: AbortSignal): Promise<AdapterCapabilityAnnouncement> {
    return this.#inTurn(signal, async () => {
      const { announcement, saved } = await this.#load(asked);
      await this.#publisher.spread();
      await this.#save((others) => [...others, saved], asked.domain);
      return announcement;
    });
  }

  /**
   * Withdraws the announcement at every shard that can be reached, waits for the requests that use the adapter, frees it; tells what was
   * unloaded. `name`: the domain, or a
   * digest or its beginning, with or without a scale (`adapterNamed`). Errors: ADAPTER_UNKNOWN, ADAPTER_AMBIGUOUS, ADAPTERS_BUSY,
   * ADAPTER_IN_USE (it takes no new requests and goes with its last one), ENGINE_LOST.
   */
  unload(name: string, signal: AbortSignal): Promise<UnloadedAdapter> {
    return this.#inTurn(signal, async () => {
      const unloaded = await this.#named(name);
      const going = this.#publisher.withdraw(unloaded.domain);
      await this.#save((others) => others, unloaded.domain);
      await this.#publisher.spread();
      for (const adapter of going) await this.#free(adapter);
      return unloaded;
    });
  }

  /** Loads what was loaded at run time before the shard ended. What cannot be loaded is logged, and tried again at the next start. */
  restore(signal: AbortSignal): Promise<void> {
    return this.#inTurn(signal, async () => {
      for (const saved of await this.#readSaved()) {
        try {
          await this.#load(saved);
        } catch (thrown) {
          const { code, message } = toOstrakaError(thrown);
          this.#logger.warn('adapter.not_restored', { domain: saved.domain, adapter: saved.digest, code, message });
        }
      }
    });
  }

  /** One that could not be restored is in the saved list alone: it must be possible to get rid of it. */
  async #named(name: string): Promise<UnloadedAdapter> {
    const saved = (await this.#readSaved()).map(({ domain, digest, scale }) => ({ domain, adapterDigest: digest, scale }));
    const known = [...new Map([...saved, ...this.#publisher.announced()].map((one) => [one.domain, one])).values()];
    const named = adapterNamed(name, known);
    if (named.kind === 'unknown') throw this.#unknown(name);
    const choices = named.kind === 'ambiguous' ? named.choices : known.filter((one) => fitsAdapter(one, named.adapter));
    const [only, ...others] = choices;
    assert(only !== undefined, 'a name that is known stands for something', { name });
    if (others.length > 0) throw ambiguousAdapter(name, choices);
    return { domain: only.domain, digest: only.adapterDigest, scale: only.scale };
  }

  async #load(asked: AdapterLoad & { readonly digest?: string }) {
    const { domain, scale, accuracyDelta } = asked;
    const { path, digest, figures } = await this.#files.describe(asked.path);
    if (asked.digest !== undefined && asked.digest !== digest)
      throw platformError('ADAPTER_INVALID', `adapter ${path}: its content has changed since it was loaded`);
    checkAdapterLoad({ domain, digest, scale }, this.#publisher.announced(), this.#options.adaptersMax);
    const declared = accuracyDelta === undefined ? figuresAt(scale, figures) : declaredFigures(accuracyDelta);
    const late = baseError('DEADLINE_EXCEEDED', `the adapter was not loaded within ${this.#options.adapterLoadMsMax} ms`);
    const announcement = await this.#reported(`load adapter of ${domain}`, () =>
      this.#within(this.#options.adapterLoadMsMax, late, (signal) =>
        this.#publisher.publish({ domain, path, digest, scale, figures: declared }, signal),
      ),
    );
    const saved: SavedAdapter = { domain, path, digest, scale, ...(accuracyDelta !== undefined && { accuracyDelta }) };
    return { announcement, saved };
  }

  async #free(adapter: AdapterIdentity): Promise<void> {
    const { adapterUnloadMsMax } = this.#options;
    const { digest, scale } = adapter;
    const message = `requests still use adapter ${digest.slice(0, 12)}@${scale} after ${adapterUnloadMsMax} ms; it goes with the last of them`;
    const inUse = platformError('ADAPTER_IN_USE', message, { data: { adapterDigest: digest } });
    await this.#reported(`unload adapter ${digest.slice(0, 12)}@${scale}`, () =>
      this.#within(adapterUnloadMsMax, inUse, (signal) => this.#publisher.free(adapter, signal)),
    );
    this.#logger.info('adapter.unloaded', { adapter: adapterKey(adapter) });
  }

  /** Nobody knows how far it is, only that it is under way. */
  async #reported<Value>(title: string, work: () => Promise<Value>): Promise<Value> {
    const job = this.#progress.start({ kind: 'adapter', title, unit: 'percent' });
    try {
      const value = await work();
      job.update({ done: 100, total: 100 });
      job.end('done');
      return value;
    } catch (thrown) {
      job.end('failed', toOstrakaError(thrown).code);
      throw thrown;
    }
  }

  async #within<Value>(ms: number, error: OstrakaError, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const patience = new AbortController();
    const timer = this.#clock.setTimer(ms, () => patience.abort(error));
    try {
      return await work(patience.signal);
    } catch (thrown) {
      throw patience.signal.aborted ? error : thrown;
    } finally {
      timer.cancel();
    }
  }

  async #inTurn<Value>(signal: AbortSignal, change: () => Promise<Value>): Promise<Value> {
    const { adapterChangesQueuedMax } = this.#options;
    if (this.#waiting >= adapterChangesQueuedMax)
      throw cooperationError('ADAPTERS_BUSY', `${adapterChangesQueuedMax} changes of adapters are waiting`);
    this.#waiting++;
    const turn = this.#lastTurn.then(() => {
      if (signal.aborted) throw toAbortError(signal);
      return change();
    });
    this.#lastTurn = turn.catch(() => undefined); // its own caller hears of it
    try {
      return await turn;
    } finally {
      this.#waiting--;
    }
  }

  async #readSaved(): Promise<readonly SavedAdapter[]> {
    this.#saved ??= await this.#files.readSaved();
    return this.#saved;
  }

  /** Serving goes on when the list cannot be written: it only counts at the next start. */
  async #save(change: (others: readonly SavedAdapter[]) => readonly SavedAdapter[], domain: string): Promise<void> {
    try {
      this.#saved = change((await this.#readSaved()).filter((one) => one.domain !== domain));
      await this.#files.writeSaved(this.#saved);
    } catch (thrown) {
      this.#logger.error('adapter.not_saved', { domain, message: toOstrakaError(thrown).message });
    }
  }

  #unknown(name: string): OstrakaError {
    const { members, selfShardId } = this.#topology();
    const has = members.filter(({ announcements }) => adapterNamed(name, announcements).kind !== 'unknown');
    const elsewhere = has.map(({ shardId, httpUrl }) => `; ${shardId} has one: ask ${httpUrl}`).join('');
    return platformError('ADAPTER_UNKNOWN', `no adapter of domain ${name} is loaded on ${selfShardId}${elsewhere}`, {
      data: { domain: name },
    });
  }
}

/** An evaluation measures the adapter as it was trained; of another scale its figures are a claim. */
const figuresAt = (scale: number, figures: AdapterFigures): AdapterFigures => (scale === 1 ? figures : { ...figures, source: 'declared' });

/** Of an adapter nobody measured: the gain as if the base model knew nothing. */
const declaredFigures = (accuracyDelta: number): AdapterFigures => ({
  accuracyDelta,
  baseAccuracy: 0,
  adapterAccuracy: Math.max(0, accuracyDelta),
  performanceDeltaP99Ms: 0,
  trainingSamples: 0,
  federationRound: 0,
  source: 'declared',
});
