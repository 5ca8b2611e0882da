import { z } from 'zod';

/** Calls between shards (R33); defaults are the paper's §III where it gives one. */
export const rpcOptions = z.strictObject({
  requestTimeoutMs: z.int().min(1).default(30_000).describe('deadline of a call that brings none, all its tries together, ms'),
  messageBytesMax: z
    .int()
    .min(1024)
    .default(66_060_288)
    .describe('largest request or frame of an answer; below the largest frame that the transport takes (64 MiB), bytes'),
  retriesMax: z.int().min(0).default(3).describe('further tries of a call that may be repeated'),
  retryDelayMs: z.int().min(0).default(50).describe('upper bound of the first random wait before a retry, doubled each time, ms'),
  breakerFailuresMax: z.int().min(1).default(5).describe('consecutive failures that open a breaker'),
  breakerRecoveryMs: z.int().min(1).default(60_000).describe('time an open breaker waits before its one probe, ms'),
});

export type RpcOptions = z.infer<typeof rpcOptions>;
