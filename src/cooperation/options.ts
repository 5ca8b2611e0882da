import { z } from 'zod';

/** Inference over the cluster (R24, R25); defaults are the paper's where it gives one. */
export const cooperationOptions = z.strictObject({
  admissionTimeoutMs: z.int().min(1).default(2_000).describe('time the chosen shard has to acknowledge a request (paper §IV-A), ms'),
  noProgressTimeoutMs: z.int().min(1).default(5_000).describe('silence after which a part of a batch or a stream is given up, ms'),
  heartbeatMs: z.int().min(1).default(1_000).describe('a shard tells that a request is alive at least so often, ms'),
  attemptsMax: z.int().min(1).default(2).describe('shards tried for one request or one part of a batch'),
  collectiveTimeoutMs: z.int().min(1).default(30_000).describe('least deadline of a scattered batch (paper §IV-B), ms'),
  millisecondsPerToken: z
    .int()
    .min(1)
    .default(40)
    .describe('for the estimate of a batch: its deadline is twice the estimate if that is longer'),
  batchEntriesMax: z.int().min(1).default(256).describe('entries of one scatter'),
  adaptersMax: z.int().min(1).max(192).default(64).describe('adapters of one shard; no more are loaded at run time'),
  adapterLoadMsMax: z.int().min(1).default(60_000).describe('longest load of an adapter at run time, ms'),
  adapterUnloadMsMax: z
    .int()
    .min(1)
    .default(60_000)
    .describe(
      'an unload waits so long for running requests; then it answers ADAPTER_IN_USE and the adapter goes with the last of them, ms',
    ),
  adapterChangesQueuedMax: z.int().min(1).default(16).describe('loads and unloads of adapters that wait for their turn'),
  jobsListedMax: z.int().min(1).default(64).describe('jobs of one shard that are listed while they run, and as many that have ended'),
  jobShownAfterMs: z.int().min(0).default(1_000).describe('what takes less is no job, ms'),
  jobsAnswerMsMax: z.int().min(1).default(2_000).describe('a shard that does not say within this time what it is at is left out, ms'),
  eventsQueuedMax: z.int().min(16).default(4_096).describe('events of one request that may wait for its reader'),
});

export type CooperationOptions = z.infer<typeof cooperationOptions>;
