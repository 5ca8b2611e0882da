import { z } from 'zod';
import { sizeOfValue } from '../../aql/index.js';
import { isObject, type JsonValue } from '../../base/index.js';
import type { RpcMethod } from '../../rpc/index.js';
import type { ShardingManager } from '../../sharding/index.js';
import { chunked } from '../chunked.js';
import { collectionRefWire } from '../collectionRefWire.js';
import type { ExecutionOptions } from '../options.js';
import type { Turns } from '../Turns.js';
import type { DocumentOperation, DocumentOutcome } from './DocumentOperation.js';
import type { LocalDocuments } from './LocalDocuments.js';

// Documents are data: their inside is never matched against a schema, which would copy and could drop a name.
const operation = z.strictObject({
  kind: z.enum(['read', 'insert', 'update', 'replace', 'remove']),
  key: z.string(),
  document: z.custom<DocumentOperation['document']>(isObject),
  options: z.strictObject({
    keepNull: z.boolean().optional(),
    mergeObjects: z.boolean().optional(),
    revision: z.string().optional(),
    overwriteMode: z.enum(['ignore', 'replace', 'update', 'conflict']).optional(),
  }),
  returns: z.strictObject({ new: z.boolean(), old: z.boolean() }).optional(),
});

const run = z.strictObject({
  epoch: z.int(),
  collection: collectionRefWire,
  operations: z.array(z.unknown()), // checked in parts: there may be thousands
});

const named = z.strictObject({ requestId: z.string().min(1).max(200), operation });

/** Operations of one request that run at a time: they share syncs of the disk. */
const togetherMax = 64;

/**
 * RPC methods of single documents: run, count. `document.run` answers the first operations, as many as go into one answer and at least
 * one; the caller asks for the others again, and those that have run are answered from what is remembered.
 */
export function documentMethods(parts: {
  readonly documents: LocalDocuments;
  readonly sharding: ShardingManager;
  readonly turns: Turns;
  readonly options: Pick<ExecutionOptions, 'requestBytesMax'>;
}): { readonly [method: string]: RpcMethod } {
  return {
    'document.run': async function* ({ body, signal }) {
      const { epoch, collection, operations } = run.parse(body);
      parts.sharding.checkEpoch(epoch);
      const part = { owner: operations };
      const rest = (): Promise<void> => parts.turns.rest(part, signal);
      const checked: z.infer<typeof named>[] = [];
      for (const together of chunked(operations, togetherMax)) {
        await rest();
        checked.push(...together.map((one) => named.parse(one)));
      }
      const outcomes: DocumentOutcome[] = [];
      let bytes = 0;
      for (const together of chunked(checked, togetherMax)) {
        await rest();
        const ran = await Promise.all(together.map((one) => parts.documents.run(collection, one, signal)));
        for (const outcome of ran) {
          bytes += sizeOfValue(outcome as unknown as JsonValue, parts.options.requestBytesMax);
          if (outcomes.length === 0 || bytes <= parts.options.requestBytesMax) outcomes.push(outcome);
        }
        if (bytes > parts.options.requestBytesMax) break;
      }
      yield { outcomes } as unknown as JsonValue;
    },
    'document.count': async function* ({ body, signal }) {
      const { collection } = z.strictObject({ collection: collectionRefWire }).parse(body);
      yield { count: await parts.documents.count(collection, signal) };
    },
  };
}
