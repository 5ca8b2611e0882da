import { z } from 'zod';

/** Gossip and failure detection (paper §IV-A; figures of convergence in docs/ARCHITECTURE.md). */
export const membershipOptions = z.strictObject({
  leaseTtlMs: z.int().min(500).default(5_000).describe('a shard that does not renew its lease for so long is no member any more, ms'),
  gossipIntervalMs: z.int().min(10).default(1_000).describe('time between push-pull rounds, ms'),
  gossipFanout: z.int().min(1).default(4).describe('peers of one round, and of an eager push'),
  gossipTimeoutMs: z.int().min(10).default(1_000).describe('a peer that does not answer a round for so long is suspected, ms'),
  deadAfterMs: z.int().min(100).default(3_000).describe('a suspected peer that stays silent for so long is dead, ms'),
  loadReportIntervalMs: z.int().min(10).default(200).describe('least time between two pushes of the own load, ms'),
  announcementTtlMs: z.int().min(1000).default(7_200_000).describe('an announcement not renewed for so long is stale (paper §IV-A), ms'),
  loadFreshMs: z.int().min(100).default(5_000).describe('a load report older than this counts as none, ms'),
});

export type MembershipOptions = z.infer<typeof membershipOptions>;
