// Claim (R24; paper Table II: routing overhead <= 5 ms): a decision takes <= 0.05 ms at the 99th percentile with 64 shards and 16
// domains a shard. Data: one announcement a domain and shard, loads drawn at random, the domain asked for in turn. The alternative is
// the target itself.

import { asId, type ShardId } from '../src/base/index.js';
import type { AdapterCapabilityAnnouncement, TopologyView } from '../src/membership/index.js';
import { idleLoad } from '../src/platform/index.js';
import { AdaptiveShardRouter, Reservations, routingOptions } from '../src/routing/index.js';
import { assignSlots, ConsistentHashRing } from '../src/sharding/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';

const counts = { shards: 64, domains: 16 };
const targetMs = 0.05;

export async function routingBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, decisions } = options.quick ? { runs: 5, decisions: 5_000 } : { runs: 20, decisions: 20_000 };
  const shardIds = Array.from({ length: counts.shards }, (_, i) => asId<ShardId>(`shard-${i}`));
  const ring = ConsistentHashRing.of(1, assignSlots(shardIds));
  const router = new AdaptiveShardRouter(routingOptions.parse({}));
  const reservations = new Reservations();
  const state = { view: viewOf(shardIds), ring, admits: () => true, reserved: (id: ShardId) => reservations.of(id) };
  const p99s: number[] = [];
  const medians: number[] = [];
  for (let run = -2; run < runs; run++) {
    const times = Array.from({ length: decisions }, (_, i) => {
      const startedMs = performance.now();
      router.route(
        {
          adapter: { domain: `domain-${i % counts.domains}` },
          model: 'default',
          promptHash: BigInt(i) << 40n,
          excluded: new Set(),
          scoreMin: undefined,
          isNamed: false,
        },
        state,
      );
      return performance.now() - startedMs;
    }).sort((left, right) => left - right);
    if (run < 0) continue; // warms up
    p99s.push(times[Math.floor(times.length * 0.99)] ?? 0);
    medians.push(times[Math.floor(times.length / 2)] ?? 0);
  }
  const name = `routing decision, ${counts.shards} shards x ${counts.domains} domains`;
  const against = `target ${targetMs} ms (paper: 5 ms)`;
  const ratioOf = (median: number): number => targetMs / median;
  return [
    measured({ name, metric: 'p99', unit: 'ms', values: p99s, against, ratioOf }),
    measured({ name, metric: 'p50', unit: 'ms', values: medians, against, ratioOf }),
  ];
}

const viewOf = (shardIds: readonly ShardId[]): TopologyView => ({
  epoch: 1,
  selfShardId: shardIds[0] as ShardId,
  members: shardIds.map((shardId, i) => ({
    shardId,
    incarnation: 1,
    address: { host: '127.0.0.1', port: 1 },
    httpUrl: '',
    health: 'alive',
    ready: true,
    models: [{ name: 'm', digest: 'd', kind: 'chat' }],
    announcements: Array.from({ length: counts.domains }, (_, domain) =>
      announcementOf(shardId, domain, 0.4 + ((i * 7 + domain * 13) % 60) / 100),
    ),
    load: { ...idleLoad(16), pendingLlmRequests: (i * 31) % 17 },
  })),
});

const announcementOf = (shardId: ShardId, domain: number, accuracyDelta: number): AdapterCapabilityAnnouncement => ({
  shardId,
  domain: `domain-${domain}`,
  adapterDigest: 'a'.repeat(64),
  modelDigest: 'b'.repeat(64),
  scale: 1,
  accuracyDelta,
  baseAccuracy: 0,
  adapterAccuracy: accuracyDelta,
  performanceDeltaP99Ms: 20,
  trainingSamples: 300,
  federationRound: 0,
  source: 'measured',
  announcedAt: 0,
  withdrawn: false,
});
