import { assert } from '../../src/base/index.js';
import type { PlantedBug } from '../bugs/PlantedBug.js';
import { SimHttp } from '../ports/SimHttp.js';
import { SimMetadataServer } from '../ports/SimMetadataServer.js';
import type { MetadataFaults } from '../ports/SimMetadataStore.js';
import { SimNetwork } from '../ports/SimNetwork.js';
import { SimClock } from '../world/SimClock.js';
import { SimProcess } from '../world/SimProcess.js';
import type { SimWorld } from '../world/SimWorld.js';
import { simAdapters } from './SimScript.js';
import { SimShard } from './SimShard.js';

const readyPollMs = 50;

/** The whole simulated cluster. Adapter k is on shard k + 1; the first shard has none. */
export class SimCluster {
  readonly world: SimWorld;
  readonly network: SimNetwork;
  readonly http: SimHttp;
  readonly shards: readonly SimShard[];
  readonly metadataFaults: MetadataFaults = { refusedShare: 0, answerLostShare: 0 };
  /** Time of the simulator itself, which no fault stops. */
  readonly clock: SimClock;
  #clockSlackMs = 0;

  constructor(parts: { readonly world: SimWorld; readonly shardCount: number; readonly bug: PlantedBug }) {
    const { world, shardCount, bug } = parts;
    this.world = world;
    this.network = new SimNetwork({ world, random: world.random.fork('network') });
    this.http = new SimHttp({ world, random: world.random.fork('http') });
    this.clock = new SimClock({ world, process: new SimProcess('simulator') });
    const shardIds = Array.from({ length: shardCount }, (_, i) => `shard-${i}`);
    const surroundings = {
      world,
      network: this.network,
      http: this.http,
      metadata: new SimMetadataServer(world),
      metadataFaults: this.metadataFaults,
      bug,
      shardIds,
    };
    this.shards = shardIds.map((_, index) => {
      const adapter = simAdapters[index - 1];
      return new SimShard({ index, surroundings, adapters: adapter ? [adapter] : [] });
    });
  }

  /** How much later than its answer a write may be seen first: as far as wall clocks were apart in this run. */
  get clockSlackMs(): number {
    return this.#clockSlackMs;
  }

  skewClock(shard: SimShard, skewMs: number): void {
    shard.clockSkewMs = skewMs;
    const skews = this.shards.map(({ clockSkewMs }) => clockSkewMs);
    this.#clockSlackMs = Math.max(this.#clockSlackMs, Math.max(...skews) - Math.min(...skews));
  }

  shard(index: number): SimShard {
    const shard = this.shards[index];
    assert(shard, 'a shard index is in range', { index });
    return shard;
  }

  /** Starts all and waits until each has its engine; false when that takes longer than `limitMs`. */
  async start(limitMs: number): Promise<boolean> {
    for (const shard of this.shards) if (!shard.isUp) shard.start();
    return this.whenReady(limitMs);
  }

  async whenReady(limitMs: number): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < limitMs; waitedMs += readyPollMs) {
      if (this.shards.every((shard) => shard.isReady)) return true;
      await this.clock.sleep(readyPollMs);
    }
    return false;
  }

  /** Ends every fault; shards that are down start. */
  heal(): void {
    this.world.note('heal');
    this.network.heal();
    Object.assign(this.metadataFaults, { refusedShare: 0, answerLostShare: 0 });
    for (const shard of this.shards) {
      shard.disk.isFull = false;
      shard.clockSkewMs = 0;
      shard.pause(0);
      if (!shard.isUp) shard.start();
    }
  }

  /** The program is over: nothing of it runs any more. */
  end(): void {
    for (const shard of this.shards) shard.crash();
  }
}
