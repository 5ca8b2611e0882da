import { z } from 'zod';
import type { RpcMethod } from '../rpc/index.js';
import type { Timestamp } from '../storage/index.js';
import type { LocalTransactions } from './LocalTransactions.js';

const named = z.strictObject({ id: z.string().min(1).max(200) });
const decided = z.strictObject({
  id: z.string().min(1).max(200),
  decision: z.union([
    z.strictObject({ kind: z.literal('commit'), commitTimestamp: z.int().transform((value) => value as Timestamp) }),
    z.strictObject({ kind: z.literal('abort') }),
  ]),
});

/** RPC methods of cross-shard transactions: commit, prepare, decide. */
export function transactionMethods(local: LocalTransactions): { readonly [method: string]: RpcMethod } {
  return {
    'transaction.commit': async function* ({ body, signal }) {
      yield { commitTimestamp: await local.commit(named.parse(body).id, signal) };
    },
    'transaction.prepare': async function* ({ body }) {
      yield { proposal: await local.prepare(named.parse(body).id) };
    },
    'transaction.decide': async function* ({ body }) {
      const { id, decision } = decided.parse(body);
      await local.decide(id, decision);
      yield null;
    },
  };
}
