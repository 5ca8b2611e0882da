import { z } from 'zod';
import type { GatherNode, PlanNode } from '../aql/index.js';
import type { JsonValue, OstrakaErrorJson } from '../base/index.js';
import type { Timestamp } from '../storage/index.js';
import type { WriteOutcome } from './applyWrites.js';
import { collectionRefWire } from './collectionRefWire.js';
import type { QueryStats } from './QueryStats.js';
import type { QueryWarning } from './WarningList.js';

const json = z.unknown().transform((value) => value as JsonValue);

const transaction = z.strictObject({
  id: z.string().min(1).max(200),
  readTimestamp: z.int().transform((value) => value as Timestamp),
  /** False: a snapshot read that ends with the fragment. */
  joins: z.boolean(),
  /** This shard has seen the transaction before: it must still have it. */
  isKnown: z.boolean(),
});

const fragment = z.strictObject({
  queryId: z.string(),
  epoch: z.int(),
  transaction,
  collection: collectionRefWire,
  /** The plan's own nodes: peers of one cluster run one version. */
  nodes: z.array(z.looseObject({ kind: z.string() })).transform((nodes) => nodes as unknown as readonly PlanNode[]),
  inputs: z.array(z.int().min(0)),
  outputs: z
    .array(z.strictObject({ variable: z.int().min(0), projections: z.array(z.string()).optional() }))
    .transform((outputs) => outputs as GatherNode['outputs']),
  /** A register behind all variables of the plan; holds the index of the input row. */
  originRegister: z.int().min(0),
  /** Values of the inputs, one row for every row of the coordinator. */
  rows: z.array(z.array(json)),
  nowMs: z.number(),
  memoryLimitBytes: z.int(),
  warningsMax: z.int(),
  failOnWarning: z.boolean(),
});

const write = z.strictObject({
  epoch: z.int(),
  transaction,
  collection: collectionRefWire,
  kind: z.enum(['Insert', 'Update', 'Replace', 'Remove']),
  options: z.strictObject({
    ignoreErrors: z.boolean(),
    keepNull: z.boolean(),
    mergeObjects: z.boolean(),
    ignoreRevs: z.boolean(),
    overwriteMode: z.enum(['conflict', 'ignore', 'replace', 'update']),
  }),
  writes: z.array(z.looseObject({ key: z.string() })),
  /** NEW and OLD come back only where they are read. */
  returns: z.strictObject({ new: z.boolean(), old: z.boolean() }),
});

/** Bodies of the methods between coordinator and shards. */
export const fragmentWire = { fragment, write, touch: z.strictObject({ transaction }) };

export type TransactionJson = z.infer<typeof transaction>;
export type FragmentRequest = z.infer<typeof fragment>;
export type WriteRequest = z.infer<typeof write>;

/** Frames of a fragment's answer: any number of blocks, then the end. A row begins with the index of the input row it came from. */
export type FragmentFrame =
  | {
      readonly kind: 'block';
      readonly rows: readonly (readonly JsonValue[])[];
      /** Of memory that the rows take, about. */
      readonly bytes: number;
    }
  | { readonly kind: 'end'; readonly stats: QueryStats; readonly warnings: readonly QueryWarning[] };

export interface WriteAnswer {
  readonly outcomes: readonly WriteOutcome[];
  /** The first error, where errors are not ignored; nothing after it was tried. */
  readonly error?: OstrakaErrorJson;
}
