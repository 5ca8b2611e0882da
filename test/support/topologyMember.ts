import type { ShardId } from '../../src/base/index.js';
import type { AdapterCapabilityAnnouncement, TopologyMember } from '../../src/membership/index.js';
import { idleLoad } from '../../src/platform/index.js';

const digest = 'a'.repeat(64);

/** An adapter for `law`, measured on the model that every `topologyMember` serves. */
export const measuredAdapter = (
  accuracyDelta: number,
  changes: Partial<AdapterCapabilityAnnouncement> = {},
): AdapterCapabilityAnnouncement => ({
  shardId: 'x',
  domain: 'law',
  adapterDigest: digest,
  modelDigest: digest,
  scale: 1,
  accuracyDelta,
  baseAccuracy: 0.5,
  adapterAccuracy: 0.9,
  performanceDeltaP99Ms: 0,
  trainingSamples: 1,
  federationRound: 0,
  source: 'measured',
  announcedAt: 0,
  withdrawn: false,
  ...changes,
});

/** The load of a shard with so many requests waiting. */
export const loadOf = (pendingLlmRequests: number): NonNullable<TopologyMember['load']> => ({
  ...idleLoad(8),
  pendingLlmRequests,
});

/** A shard that lives, serves one chat model and has nothing to do. */
export const topologyMember = (shardId: ShardId, changes: Partial<TopologyMember> = {}): TopologyMember => ({
  shardId,
  incarnation: 1,
  address: { host: 'h', port: 1 },
  httpUrl: '',
  health: 'alive',
  ready: true,
  models: [{ name: 'm', digest, kind: 'chat' }],
  announcements: [],
  load: loadOf(0),
  ...changes,
});
