import { z } from 'zod';

/** Transactions over several shards. */
export const transactionOptions = z.strictObject({
  openMax: z.int().min(1).default(4_096).describe('transactions of other shards open on one shard; more are refused'),
  idleMsMax: z.int().min(100).default(60_000).describe('a transaction unused for so long on a shard is dropped there, ms'),
  commitDeadlineMs: z.int().min(100).default(10_000).describe('time each phase of a commit has, ms'),
  inDoubtAfterMs: z
    .int()
    .min(100)
    .default(5_000)
    .describe('a prepared transaction without news for so long is resolved through the metadata store, ms'),
  abortWaitMsMax: z
    .int()
    .min(0)
    .default(1_000)
    .describe('how long a failed transaction waits until its shards have heard of the abort before it reports, ms'),
  abortsToldMax: z
    .int()
    .min(1)
    .default(1_024)
    .describe('failed transactions whose shards are told at a time while their callers have gone on; beyond it callers wait'),
  endedRememberedMax: z.int().min(1).default(4_096).describe('commits without writes that a shard remembers, to answer repetitions'),
  decisionSweepMs: z
    .int()
    .min(100)
    .default(10_000)
    .describe('time between two looks for decisions of others that this shard has applied without their knowing, ms'),
  decisionKeptMs: z.int().min(60_000).default(3_600_000).describe('how long decisions to abort stay in the metadata store, ms'),
});

export type TransactionOptions = z.infer<typeof transactionOptions>;
