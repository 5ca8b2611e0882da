import { asId, type ShardId, toOstrakaError } from '../../src/base/index.js';
import { ChecksummedStore } from '../../src/platform/index.js';
import { assembleShard, type Shard } from '../../src/shard/index.js';
import type { PlantedBug } from '../bugs/PlantedBug.js';
import { SimEngineLauncher, simStepCost, toyDescription } from '../engine/index.js';
import { SimDisk } from '../ports/SimDisk.js';
import type { SimHttp } from '../ports/SimHttp.js';
import { SimLogger } from '../ports/SimLogger.js';
import type { SimMetadataServer } from '../ports/SimMetadataServer.js';
import { type MetadataFaults, SimMetadataStore } from '../ports/SimMetadataStore.js';
import type { SimNetwork } from '../ports/SimNetwork.js';
import { SimOrderedStore } from '../ports/SimOrderedStore.js';
import { SimTransport } from '../ports/SimTransport.js';
import { silentMetrics } from '../ports/silentMetrics.js';
import { SimClock } from '../world/SimClock.js';
import { SimProcess } from '../world/SimProcess.js';
import type { SimWorld } from '../world/SimWorld.js';
import { noAdapterFiles } from './noAdapterFiles.js';
import { preparedRows } from './preparedRows.js';
import { type SimAdapter, simScript } from './SimScript.js';
import { simShardConfig } from './simShardConfig.js';

/** What all shards of a simulated cluster share. */
export interface SimSurroundings {
  readonly world: SimWorld;
  readonly network: SimNetwork;
  readonly http: SimHttp;
  readonly metadata: SimMetadataServer;
  readonly metadataFaults: MetadataFaults;
  readonly bug: PlantedBug;
  readonly shardIds: readonly string[];
}

interface Life {
  readonly process: SimProcess;
  readonly store: SimOrderedStore;
  readonly launcher: SimEngineLauncher;
  readonly shard: Shard;
  isReady: boolean;
}

const commitPollMs = 1;
const engineLaunchMs = 400;
/** A shard that cannot start ends, and is started again after this. */
const restartMs = 1_000;

/** One shard through all its lives: the real shard on simulated ports, its disk, its crashes. */
export class SimShard {
  readonly shardId: ShardId;
  readonly httpPort: number;
  readonly disk = new SimDisk();
  readonly #index: number;
  readonly #surroundings: SimSurroundings;
  #adapters: readonly SimAdapter[];
  #life: Life | undefined;
  #lives = 0;
  #clockSkewMs = 0;

  constructor(parts: { readonly index: number; readonly surroundings: SimSurroundings; readonly adapters: readonly SimAdapter[] }) {
    this.#index = parts.index;
    this.#surroundings = parts.surroundings;
    this.#adapters = parts.adapters;
    this.shardId = asId<ShardId>(parts.surroundings.shardIds[parts.index] as string);
    this.httpPort = 8529 + parts.index;
  }

  get isReady(): boolean {
    return this.#life?.isReady === true && this.#life.shard.readiness().ready;
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  get adapters(): readonly SimAdapter[] {
    return this.#adapters;
  }

  /** Serves these from the next start on. */
  set adapters(adapters: readonly SimAdapter[]) {
    this.#adapters = adapters;
  }

  get clockSkewMs(): number {
    return this.#clockSkewMs;
  }

  /** Sets the wall clock of the machine wrong; 0 sets it right. */
  set clockSkewMs(skewMs: number) {
    this.#clockSkewMs = skewMs;
    if (this.#life) this.#life.process.clockSkewMs = skewMs;
  }

  start(): void {
    const { world } = this.#surroundings;
    const process = new SimProcess(`${this.shardId}#${++this.#lives}`);
    process.clockSkewMs = this.#clockSkewMs;
    world.note(`start ${process.name}`);
    const life = this.#assemble(process);
    this.#life = life;
    life.shard.start().then(
      () => {
        life.isReady = true;
        world.note(`ready ${process.name}`);
      },
      (error: unknown) => this.#failed(life, error),
    );
  }

  /** kill -9: nothing of the process runs any more, unsynced writes are gone, connections break. */
  crash(): void {
    const life = this.#life;
    if (!life) return;
    this.#surroundings.world.note(`crash ${life.process.name}`);
    if (this.disk.scan(preparedRows).length > 0) this.#surroundings.world.reach('crash of a shard that is in doubt');
    life.process.kill();
    life.store.crash();
    this.#surroundings.network.processDied(life.process);
    this.#surroundings.http.processDied(life.process);
    this.#life = undefined;
  }

  /** Dies in the middle of its next commit; nothing when it makes none within `withinMs`. */
  crashInCommit(withinMs: number): void {
    const { world } = this.#surroundings;
    const endMs = world.nowMs + withinMs;
    const look = (): void => {
      if ((this.#life?.store.unsyncedCount ?? 0) > 0) this.crash();
      else if (world.nowMs < endMs) world.schedule({ delayMs: commitPollMs, owner: undefined, run: look });
    };
    look();
  }

  /** SIGTERM: the shard stops in order and, once it has, is started again. */
  stop(): void {
    const life = this.#life;
    if (!life?.isReady) return;
    const { world } = this.#surroundings;
    world.note(`stop ${life.process.name}`);
    life.isReady = false;
    void life.shard.stop().then(() => {
      if (this.#life !== life) return;
      world.note(`stopped ${life.process.name}`);
      world.reach('stop in order');
      this.crash();
      world.schedule({ delayMs: restartMs, owner: undefined, run: () => (this.#life ? undefined : this.start()) });
    });
  }

  hangEngine(): void {
    if (!this.#life?.isReady) return;
    this.#surroundings.world.note(`hang engine of ${this.#life.process.name}`);
    this.#life.launcher.hang();
  }

  async crashEngine(): Promise<void> {
    if (!this.#life?.isReady) return;
    this.#surroundings.world.note(`crash engine of ${this.#life.process.name}`);
    await this.#life.launcher.crash();
  }

  /** Nothing of the process runs for a while. */
  pause(forMs: number): void {
    const { world } = this.#surroundings;
    this.#life?.process.pauseUntil(world.nowMs + forMs);
  }

  #failed(life: Life, thrown: unknown): void {
    const { world } = this.#surroundings;
    if (this.#life !== life) return;
    const { code, message } = toOstrakaError(thrown);
    world.note(`start failed ${life.process.name} ${code}`);
    if (code !== 'METADATA_UNAVAILABLE' && code !== 'STORE_FULL')
      world.violate('start', `${life.process.name} cannot start: ${code} ${message}`);
    this.crash();
    world.schedule({ delayMs: restartMs, owner: undefined, run: () => (this.#life ? undefined : this.start()) });
  }

  #assemble(process: SimProcess): Life {
    const { world, network, http, metadata, metadataFaults, bug, shardIds } = this.#surroundings;
    const random = world.random.fork(process.name);
    const clock = new SimClock({ world, process });
    const logger = new SimLogger({ world, process });
    const store = new SimOrderedStore({ world, process, random: random.fork('fsync'), disk: this.disk, fsyncMs: { min: 0.5, max: 6 } });
    const launcher = new SimEngineLauncher({
      clock,
      random: random.fork('engines'),
      logger,
      script: simScript,
      cost: simStepCost,
      launchMs: engineLaunchMs,
    });
    const checked = new ChecksummedStore(store);
    const end = { shardId: this.shardId, process };
    const transport = new SimTransport({ network, end, port: 9000 + this.#index });
    const site = { shardId: this.shardId, random: random.fork('bug') };
    const shard = assembleShard(simShardConfig({ index: this.#index, shardIds, adapters: this.#adapters }), {
      clock,
      random: random.fork('shard'),
      logger,
      metrics: silentMetrics,
      store: bug.wrapStore?.(checked, site) ?? checked,
      metadata: new SimMetadataStore({ world, process, random: random.fork('metadata'), server: metadata, faults: metadataFaults }),
      transport: bug.wrapTransport?.(transport, site) ?? transport,
      listener: http.listenerOf(process),
      launcher: bug.wrapLauncher?.(launcher, site) ?? launcher,
      memory: { read: () => undefined },
      describeModel: () => toyDescription,
      adapterFiles: noAdapterFiles,
      productVersion: 'simulated',
    });
    return { process, store, launcher, shard, isReady: false };
  }
}
