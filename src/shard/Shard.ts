import { asId, type ShardId, toOstrakaError } from '../base/index.js';
import type { AdapterPublisher, AdapterService } from '../cooperation/index.js';
import type { EmbedJobs } from '../execution/index.js';
import type { CursorStore, Gateway, Readiness } from '../gateway/index.js';
import type { GossipEntry, GossipProtocol, ShardRegistration } from '../membership/index.js';
import { describeProgress, type EnginePool } from '../models/index.js';
import {
  type Clock,
  describeShortage,
  idleLoad,
  type Logger,
  type MetadataStore,
  type OrderedStore,
  type Timer,
  type Transport,
} from '../platform/index.js';
import type { RemoteExecutor, RpcServer } from '../rpc/index.js';
import type { Catalog, ShardingManager } from '../sharding/index.js';
import type { DocumentStore, GarbageCollector } from '../storage/index.js';
import type { LocalTransactions, TransactionCoordinator } from '../transactions/index.js';
import type { ShardConfig } from './ShardConfig.js';

export interface ShardParts {
  readonly config: ShardConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: OrderedStore;
  readonly metadata: MetadataStore;
  readonly transport: Transport;
  readonly documentStore: DocumentStore;
  readonly garbage: GarbageCollector;
  readonly server: RpcServer;
  readonly executor: RemoteExecutor;
  readonly gossip: GossipProtocol;
  readonly registration: ShardRegistration;
  /** Sees to it that the store is the shard's own. Errors: STORE_MISSING, STORE_FOREIGN. */
  readonly claim: () => Promise<void>;
  readonly catalog: Catalog;
  readonly sharding: ShardingManager;
  readonly localTransactions: LocalTransactions;
  readonly transactions: TransactionCoordinator;
  readonly engine: EnginePool;
  readonly publisher: AdapterPublisher;
  readonly adapters: AdapterService;
  readonly embedJobs: EmbedJobs;
  readonly cursors: CursorStore;
  readonly gateway: Gateway;
}

/** Where a started shard can be reached. */
export interface ShardAddress {
  readonly shardId: ShardId;
  readonly httpUrl: string;
  readonly rpcPort: number;
}

/** An assembled shard: its order of start and stop, and its few background loops. Decides nothing else. */
export class Shard {
  readonly #parts: ShardParts;
  readonly #stopping = new AbortController();
  readonly #timers = new Map<string, Timer>();
  #isServing = false;
  #isEngineUp = false;
  #lastLoad = '';
  #loadReportedAtMs = 0;

  constructor(parts: ShardParts) {
    this.#parts = parts;
  }

  /**
   * Starts everything but the engine, so that data is there first; then the engine, then the adapters, each announced once loaded.
   * Resolves when the shard answers requests with its models. Errors: PORT_IN_USE, MODEL_INVALID, ADAPTER_INVALID and the stores' own.
   */
  async start(): Promise<ShardAddress> {
    const { config, catalog, sharding, localTransactions } = this.#parts;
    await catalog.start();
    await sharding.start(config.cluster.initialShards.map((id) => asId<ShardId>(id)));
    await localTransactions.resolve(true);
    const address = await this.#join();
    this.#isServing = true;
    this.#startLoops();
    await this.#startEngine();
    await this.#parts.embedJobs.resume();
    return address;
  }

  /** Stops in reverse order; every part's stop is awaited. Safe after a failed start. */
  async stop(): Promise<void> {
    const { gateway, registration, gossip, transport, engine, store, metadata, logger } = this.#parts;
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    this.#isServing = false;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#parts.cursors.close();
    const stops = [
      () => gateway.stop(),
      () => this.#parts.embedJobs.stop(),
      () => this.#parts.transactions.stop(),
      () => registration.stop(),
      () => engine.stop(),
      () => gossip.stop(),
      () => transport.close(),
      () => store.close(),
      () => metadata.close(),
    ];
    for (const stop of stops) {
      await stop().catch((error: unknown) => logger.warn('shard.stop_failed', { error: toOstrakaError(error).message }));
    }
    logger.info('shard.stopped');
  }

  /**
   * A full disk leaves the shard ready: it answers reads, removals that make room, and whatever concerns other shards, and one disk is
   * often full for all shards at once; a load balancer that took them out would take all of that away and gain nothing.
   */
  readiness(): Readiness {
    const { isFull, shortage } = this.#parts.documentStore;
    const state = { store: isFull ? 'full' : 'ok', shortage } as const;
    if (!this.#isServing) return { ...state, ready: false, reason: 'the shard is starting or stopping' };
    if (!this.#isEngineUp) {
      const { progress } = this.#parts.engine;
      const reason = `the engine is starting${describeProgress(progress)}`;
      return { ...state, ready: false, reason, ...(progress !== undefined && { engine: progress }) };
    }
    return {
      ...state,
      ready: true,
      reason: isFull ? `the disk is full${describeShortage(shortage)}: documents can be read and removed only` : '',
    };
  }

  get enginePid(): number {
    return this.#parts.engine.enginePid;
  }

  /** Opens the ports and becomes a member. */
  async #join(): Promise<ShardAddress> {
    const { config, transport, server, gateway, gossip, registration, executor } = this.#parts;
    const shardId = asId<ShardId>(config.process.shardId);
    await this.#parts.claim();
    const incarnation = await registration.nextIncarnation(shardId);
    const { address } = await transport.listen(server.handle);
    const { host } = config.process;
    const http = await gateway.start({ host, port: config.process.httpPort });
    const httpUrl = `http://${host}:${http.port}`;
    const self = { shardId, incarnation, host: address.host, rpcPort: address.port, httpUrl };
    const own = { ready: false, models: this.#models(), announcements: [], load: idleLoad(0) };
    gossip.start({ executor, self, own });
    const entry: GossipEntry = { ...self, version: 1, ...own };
    await registration.start(entry, (members) => gossip.introduce(members));
    return { shardId, httpUrl, rpcPort: address.port };
  }

  async #startEngine(): Promise<void> {
    const { engine, publisher, adapters, config } = this.#parts;
    engine.onChange((change) => {
      if (change.kind === 'adapters') publisher.withdrawLost();
      else this.#announceEngine(change.kind);
    });
    await engine.start(this.#stopping.signal);
    for (const adapter of config.process.adapters) await publisher.publish(adapter, this.#stopping.signal);
    await adapters.restore(this.#stopping.signal);
  }

  #announceEngine(change: 'up' | 'down' | 'models'): void {
    const { gossip } = this.#parts;
    if (change !== 'models') this.#isEngineUp = change === 'up';
    gossip.announce({ ready: this.#isEngineUp, models: this.#models() });
  }

  #models(): GossipEntry['models'] {
    return this.#parts.engine
      .models()
      .map(({ name, digest, kind, loaded }) => ({ name, digest, kind, ...(loaded !== undefined && { loaded }) }));
  }

  #startLoops(): void {
    const { config, localTransactions } = this.#parts;
    this.#every('resolve', config.process.resolveIntervalMs, () => localTransactions.resolve(false));
    this.#every('garbage', config.process.garbageIntervalMs, () => this.#collectGarbage());
    this.#every('load', config.process.loadIntervalMs, async () => this.#reportLoad());
  }

  /** A round over all rows, with short pauses: rows must go as fast as they come, however many there are. */
  async #collectGarbage(): Promise<void> {
    const { garbage, clock, config } = this.#parts;
    await this.#collectSomeGarbage();
    while (!garbage.isRoundOver) {
      await clock.sleep(config.process.garbagePauseMs, this.#stopping.signal);
      await this.#collectSomeGarbage();
    }
  }

  async #collectSomeGarbage(): Promise<void> {
    const { store, documentStore, garbage, catalog } = this.#parts;
    store.refreshRoom();
    await garbage.step({
      horizon: documentStore.advanceHorizon(),
      outcomesKeptAfter: documentStore.outcomesKeptAfter(),
      liveCollections: () => catalog.liveCollectionIds(),
      isBeingWritten: (collection, key) => documentStore.isBeingWritten(collection, key),
    });
  }

  /** A changed load at once, an unchanged one before the others hold it for stale. */
  #reportLoad(): void {
    const { engine, gossip, clock, config } = this.#parts;
    const load = engine.load();
    const text = JSON.stringify(load);
    const ageMs = clock.monotonicMs() - this.#loadReportedAtMs;
    if (text === this.#lastLoad && ageMs < config.membership.loadFreshMs / 4) return;
    gossip.reportLoad(load);
    this.#lastLoad = text;
    this.#loadReportedAtMs = clock.monotonicMs();
  }

  /** Runs `work` again and again with a pause between; a failure is logged and the next turn comes all the same. */
  #every(name: string, pauseMs: number, work: () => Promise<unknown>): void {
    const turn = async (): Promise<void> => {
      try {
        await work();
      } catch (thrown) {
        const error = toOstrakaError(thrown);
        if (!this.#stopping.signal.aborted)
          this.#parts.logger.warn('shard.loop_failed', { loop: name, code: error.code, error: error.message });
      }
      if (!this.#stopping.signal.aborted) this.#every(name, pauseMs, work);
    };
    this.#timers.set(
      name,
      this.#parts.clock.setTimer(pauseMs, () => void turn()),
    );
  }
}
