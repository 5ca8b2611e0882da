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
  recentCommitsMax: z.int().min(1).default(200_000).describe('committed transactions remembered for validation'),
  lockWaitMsMax: z.int().min(0).default(5000).describe('how long a commit waits for a prepared transaction it meets, ms'),
  conflictRetriesMax: z.int().min(0).default(10).describe('times a single-document write is tried again after a conflict'),
  garbageRowsMax: z.int().min(1).default(2000).describe('rows one step of garbage collection looks at'),
});

export type StorageOptions = z.infer<typeof storageOptions>;
