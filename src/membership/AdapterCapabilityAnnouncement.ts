import { z } from 'zod';

const share = z.number().min(0).max(1);

/**
 * What a shard says of one of its adapters (paper §IV-A, R24). `accuracyDelta` is the normalised gain of E2,
 * (adapter − base) / (1 − base), or −1…0 when the adapter is worse; `source` tells a measured figure from a declared one.
 */
export const adapterCapabilityAnnouncement = z.strictObject({
  shardId: z.string().min(1).max(128),
  domain: z.string().min(1).max(128),
  adapterDigest: z.string().regex(/^[0-9a-f]{64}$/),
  modelDigest: z.string().regex(/^[0-9a-f]{64}$/),
  scale: z.number().min(0).max(100),
  accuracyDelta: z.number().min(-1).max(1),
  baseAccuracy: share,
  adapterAccuracy: share,
  performanceDeltaP99Ms: z.number().min(-1e6).max(1e6),
  trainingSamples: z.int().min(0),
  federationRound: z.int().min(0),
  source: z.enum(['measured', 'declared']),
  /** Wall time of the announcing shard, ms. Staleness is judged by each receiver's own clock from when it first saw the entry. */
  announcedAt: z.int().min(0),
  withdrawn: z.boolean(),
});

export type AdapterCapabilityAnnouncement = z.infer<typeof adapterCapabilityAnnouncement>;
