import { z } from 'zod';

/** How `up` keeps its shard processes; milliseconds of this process. */
export const shardProcessOptions = z.strictObject({
  startMsMax: z.int().min(1).default(900_000).describe('a shard that is not ready after this is ended: longer than its engine may take'),
  probeIntervalMs: z.int().min(10).default(5_000).describe('how often a shard is asked whether it lives'),
  probeTimeoutMs: z.int().min(10).default(5_000).describe('a probe without an answer within this is missed'),
  probesMissedMax: z.int().min(1).default(6).describe('probes missed in a row after which a hung shard is killed and started again'),
  restartDelayMsMin: z.int().min(0).default(200).describe('wait before the second restart in a row; the first is at once'),
  restartDelayMsMax: z.int().min(1).default(10_000).describe('the wait doubles up to this'),
  stopMsMax: z.int().min(0).default(4_000).describe('a shard that was asked to stop is killed after this'),
  stableMs: z.int().min(1).default(30_000).describe('a shard that lived this long starts the count of restarts anew'),
});

export type ShardProcessOptions = z.infer<typeof shardProcessOptions>;
