import { z } from 'zod';
import { adapterCapabilityAnnouncement } from './AdapterCapabilityAnnouncement.js';

const loadReport = z.strictObject({
  pendingLlmRequests: z.int().min(0),
  avgLlmQueueMs: z.number().min(0),
  activeLoraAdapters: z.array(z.string().max(128)).max(256).readonly(),
  sequencesTotal: z.int().min(0),
  sequencesBusy: z.int().min(0),
  queuedByPriority: z.strictObject({ low: z.int().min(0), normal: z.int().min(0), high: z.int().min(0), critical: z.int().min(0) }),
  stepMs: z.number().min(0),
  prefixes: z.base64().max(2048),
});

/**
 * All that one shard says of itself. Only the shard itself makes new versions; (incarnation, version) orders them, so that an older or
 * replayed one never wins, whatever the clocks say.
 */
export const gossipEntry = z.strictObject({
  shardId: z.string().min(1).max(128),
  incarnation: z.int().min(1),
  version: z.int().min(1),
  host: z.string().max(255),
  rpcPort: z.int().min(1).max(65_535),
  httpUrl: z.string().max(512),
  ready: z.boolean(),
  models: z
    .array(
      z.strictObject({
        name: z.string().max(256),
        digest: z.string().max(128),
        kind: z.enum(['chat', 'embedding']),
        /** Absent: it answers at once; else the first request for it starts its engine. */
        loaded: z.literal(false).exactOptional(),
      }),
    )
    .max(64),
  announcements: z.array(adapterCapabilityAnnouncement).max(256),
  load: loadReport,
});

export type GossipEntry = z.infer<typeof gossipEntry>;

/** Newest (incarnation, version) known of each shard. */
export const gossipDigest = z.record(z.string().max(128), z.tuple([z.int(), z.int()]));

/** Answer of a push-pull round. */
export const gossipAnswer = z.strictObject({ entries: z.array(gossipEntry).max(4096), digest: gossipDigest });

export type GossipDigest = z.infer<typeof gossipDigest>;
