import { z } from 'zod';

/** Options of the document store; bounds are named so that none is hidden in code. */
export const storageOptions = z.strictObject({
  documentBytesMax: z.int().min(1024).default(16_777_216).describe('largest document, bytes of its JSON'),
  transactionReadsMax: z.int().min(1).default(1_000_000).describe('keys and ranges one transaction may have read'),
  transactionWritesMax: z.int().min(1).default(100_000).describe('documents one transaction may write'),
  snapshotAgeMsMax: z
    .int()
    .min(1000)
    .default(600_000)
    .describe('how long old versions are kept for readers, and outcomes for those who ask, ms'),
  snapshotAgeFullMsMax: z
    .int()
    .min(1000)
    .default(30_000)
    .describe('how long old versions are kept while the disk is full, so that removals give their room back soon, ms'),
  removeReserveBytes: z
    .int()
    .min(0)
    .default(16_777_216)
    .describe('room on the disk kept for removals and for ending transactions, when ordinary writes get STORE_FULL; 0 = none'),
  recentCommitsMax: z.int().min(1).default(200_000).describe('committed transactions remembered for validation'),
  lockWaitMsMax: z
    .int()
    .min(0)
    .default(5000)
    .describe('how long a read or a commit waits for a prepared transaction that has what it needs, ms'),
  clockAheadMsMax: z
    .int()
    .min(1)
    .default(10_000)
    .describe('timestamps further ahead of the wall clock are refused: the longest that a commit may have to wait, ms'),
  conflictRetriesMax: z.int().min(0).default(10).describe('times a single-document write is tried again after a conflict'),
  garbageRowsMax: z.int().min(1).default(1000).describe('rows one step of garbage collection looks at'),
});

export type StorageOptions = z.infer<typeof storageOptions>;
