import type { TopologyView } from '../../membership/index.js';
import type { RemoteExecutor } from '../../rpc/index.js';
import type { ConsistentHashRing } from '../../sharding/index.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';

/** GET /_admin/ostraka/cluster: what this shard knows of the cluster: members, slots, adapters, breakers, loads. */
export function clusterRoutes(parts: {
  readonly topology: () => TopologyView;
  readonly ring: () => ConsistentHashRing;
  readonly executor: RemoteExecutor;
}): readonly Route[] {
  return [
    {
      method: 'GET',
      pattern: '/_admin/ostraka/cluster',
      style: 'arango',
      handle: async () => {
        const { members, selfShardId } = parts.topology();
        const ring = parts.ring();
        return responses.json(200, {
          epoch: ring.epoch,
          ringDigest: ring.digest,
          answeredBy: selfShardId,
          shards: members.map(({ shardId, httpUrl, address, health, ready, incarnation, models }) => ({
            id: shardId,
            url: httpUrl,
            rpcPort: address.port,
            health,
            ready,
            incarnation,
            models,
          })),
          slots: Object.fromEntries(ring.shards.map((shardId) => [shardId, ring.slotsOf(shardId)])),
          announcements: members.flatMap(({ announcements }) => announcements),
          breakers: Object.fromEntries(members.map(({ shardId }) => [shardId, parts.executor.breakerOf(shardId).state])),
          loads: Object.fromEntries(members.map(({ shardId, load }) => [shardId, load ?? null])),
        });
      },
    },
  ];
}
