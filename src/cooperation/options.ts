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
  prefixGainMin: z
    .number()
    .min(1)
    .default(1.25)
    .describe('rows of a prompt are moved from another shard where computing them takes at least so many times as long'),
  prefixTokensGainMin: z.int().min(64).default(64).describe('tokens that a move must bring'),
  prefixCharactersMin: z.int().min(0).default(512).describe('prompts of fewer characters are not looked up among those of other shards'),
  prefixLookupMsMax: z.int().min(1).default(50).describe('time to look up who has rows of a prompt before it is routed without, ms'),
  prefixCostWeight: z.number().gt(0).max(1).default(0.3).describe('weight of the newest move in the moving means of what moves cost'),
  prefixCostFreshMs: z.int().min(1).default(60_000).describe('after so long what a move cost counts no more, and one is tried again, ms'),
  prefixMovesMax: z.int().min(1).default(4).describe('prefixes that a shard sends, and receives, at the same time'),
  prefixMoveMsMax: z.int().min(1).default(30_000).describe('longest move of a prefix, ms; what it may save is a tighter bound'),
  prefixPieceBytes: z.int().min(4_096).max(8_388_608).default(1_048_576).describe('bytes of a piece of a prefix on its way'),
  prefixPiecesAhead: z
    .int()
    .min(1)
    .max(64)
    .default(8)
    .describe('pieces that an engine is asked for, or given, before it has answered for the first of them'),
  eventsQueuedMax: z.int().min(16).default(4_096).describe('events of one request that may wait for its reader'),
});

export type CooperationOptions = z.infer<typeof cooperationOptions>;
