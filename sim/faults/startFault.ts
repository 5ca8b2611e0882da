import { assertNever } from '../../src/base/index.js';
import type { SimCluster } from '../cluster/SimCluster.js';
import type { SimShard } from '../cluster/SimShard.js';
import type { PlannedFault } from './planFaults.js';

/** Clocks that are kept by NTP differ by less; what differs by more is told in docs/decisions. */
const clockSkewMsMax = 250;

const none = (): void => undefined;

/** Makes a planned fault happen now; returns what ends it. */
export function startFault(cluster: SimCluster, fault: PlannedFault): () => void {
  const { kind, strength } = fault;
  const { network, world } = cluster;
  const shard = cluster.shard(fault.shard);
  const other = cluster.shard(fault.other);
  world.reach(`fault ${kind}`);
  world.note(`fault ${kind} ${shard.shardId} ${other.shardId} ${strength.toFixed(3)} for ${fault.forMs.toFixed(0)} ms`);
  switch (kind) {
    case 'loss':
      return during(network.faults, { lossShare: 0.002 + 0.04 * strength }, { lossShare: 0 });
    case 'duplicates':
      return during(network.faults, { duplicateShare: 0.3 * strength }, { duplicateShare: 0 });
    case 'spikes':
      return during(network.faults, { spikeShare: 0.3 * strength, spikeMsMax: 1_500 * strength }, { spikeShare: 0 });
    case 'metadata':
      return during(
        cluster.metadataFaults,
        { refusedShare: 0.2 * strength, answerLostShare: 0.3 * strength },
        { refusedShare: 0, answerLostShare: 0 },
      );
    case 'partition':
      return partition(cluster, shard);
    case 'oneWayCut':
      network.cut(shard.shardId, other.shardId);
      return () => network.mend(shard.shardId, other.shardId);
    case 'slowShard':
      network.slowDown(shard.shardId, 300 * strength);
      return () => network.slowDown(shard.shardId, 0);
    case 'pause':
      shard.pause(fault.forMs * strength);
      return none;
    case 'fullDisk':
      shard.disk.isFull = true;
      return () => {
        shard.disk.isFull = false;
      };
    case 'engineCrash':
      void shard.crashEngine();
      return none;
    case 'engineHang':
      shard.hangEngine();
      return none;
    case 'stop':
      shard.stop();
      return none;
    case 'clockSkew':
      cluster.skewClock(shard, clockSkewMsMax * (2 * strength - 1));
      return () => cluster.skewClock(shard, 0);
    case 'crash':
      return crash(shard);
    case 'crashInCommit':
      shard.crashInCommit(fault.forMs * strength);
      return () => (shard.isUp ? undefined : shard.start());
    case 'moveAdapters':
      return moveAdapters(shard, other);
    default:
      return assertNever(kind);
  }
}

const during = <Faults extends object>(faults: Faults, on: Partial<Faults>, off: Partial<Faults>): (() => void) => {
  Object.assign(faults, on);
  return () => void Object.assign(faults, off);
};

/** The shard is alone, both ways. */
const partition = ({ network, shards }: SimCluster, alone: SimShard): (() => void) => {
  const others = shards.filter((shard) => shard !== alone);
  for (const { shardId } of others) {
    network.cut(alone.shardId, shardId);
    network.cut(shardId, alone.shardId);
  }
  return () => {
    for (const { shardId } of others) {
      network.mend(alone.shardId, shardId);
      network.mend(shardId, alone.shardId);
    }
  };
};

const crash = (shard: SimShard): (() => void) => {
  shard.crash();
  return () => (shard.isUp ? undefined : shard.start());
};

/** Both shards start anew with each other's adapters. */
const moveAdapters = (shard: SimShard, other: SimShard): (() => void) => {
  const { adapters } = shard;
  shard.adapters = other.adapters;
  other.adapters = adapters;
  const ends = [crash(shard), crash(other)];
  return () => {
    for (const end of ends) end();
  };
};
