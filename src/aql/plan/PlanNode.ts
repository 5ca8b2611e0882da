import type { JsonValue } from '../../base/index.js';
import type { PlanExpression, VariableId } from './PlanExpression.js';

interface NodeBase {
  /** Unique in the plan. */
  readonly id: number;
  /** Ids of the nodes this one pulls from: one, or none for Singleton. */
  readonly dependencies: readonly number[];
}

export interface SortKey {
  readonly variable: VariableId;
  readonly ascending: boolean;
}

export interface InferNode extends NodeBase {
  readonly kind: 'Infer';
  readonly variable: VariableId;
  readonly model: string;
  readonly prompt: PlanExpression;
  readonly domain?: PlanExpression;
  /** The name of an adapter that answers, and no other. */
  readonly adapter?: PlanExpression;
  readonly system?: PlanExpression;
  /** JSON schema of the answer, which is then a value. */
  readonly schema?: PlanExpression;
  readonly context?: PlanExpression;
  readonly options?: PlanExpression;
  /** No call for rows in which one of these is not as wanted: the branch that holds the call is not taken. */
  readonly guards: readonly Guard[];
  /** The query is this call alone; decides the default of `on_error`. */
  readonly wholeQuery: boolean;
}

export interface EmbedNode extends NodeBase {
  readonly kind: 'Embed';
  readonly variable: VariableId;
  readonly model: string;
  readonly input: PlanExpression;
  readonly options?: PlanExpression;
  readonly guards: readonly Guard[];
}

export interface RerankNode extends NodeBase {
  readonly kind: 'Rerank';
  readonly variable: VariableId;
  readonly model: string;
  readonly query: PlanExpression;
  /** What is sorted by how well it fits the query. */
  readonly list: PlanExpression;
  readonly top?: PlanExpression;
  readonly options?: PlanExpression;
  readonly guards: readonly Guard[];
}

/** What an administrator says of adapters; its rows are the answer. */
export interface AdapterNode extends NodeBase {
  readonly kind: 'Adapter';
  readonly action: 'list' | 'load' | 'unload';
  readonly variable: VariableId;
  /** The path of the file to load, or the name of the adapter to unload. */
  readonly subject?: PlanExpression;
  readonly domain?: PlanExpression;
  readonly shard?: PlanExpression;
  readonly options?: PlanExpression;
}

/**
 * Gives every row of a collection the vector of its text, and keeps it so while it runs (R28). Each shard does it to its own rows, in
 * transactions of its own; what comes back is a row for each shard that tells what was done.
 */
export interface EmbedRowsNode extends NodeBase {
  readonly kind: 'EmbedRows';
  readonly variable: VariableId;
  readonly model: string;
  readonly collection: string;
  /** The row, in `text` alone. */
  readonly document: VariableId;
  readonly text: PlanExpression;
  readonly into: string;
  readonly options: JsonValue;
}

/** Holds where the truth of `variable` is `wanted`. */
export interface Guard {
  readonly variable: VariableId;
  readonly wanted: boolean;
}

export interface ModificationOptions {
  readonly ignoreErrors: boolean;
  /** UPDATE: false removes attributes that the patch sets to null. */
  readonly keepNull: boolean;
  /** UPDATE: objects are merged, not replaced. */
  readonly mergeObjects: boolean;
  readonly overwriteMode: 'conflict' | 'ignore' | 'replace' | 'update';
  readonly ignoreRevs: boolean;
}

export interface ModificationNode extends NodeBase {
  readonly kind: 'Insert' | 'Update' | 'Replace' | 'Remove';
  readonly collection: string;
  /** Document, key or id of what is changed; absent for Insert. */
  readonly key?: PlanExpression;
  /** Absent for Remove. */
  readonly document?: PlanExpression;
  readonly options: ModificationOptions;
  readonly newVariable?: VariableId;
  readonly oldVariable?: VariableId;
}

export interface CollectNode extends NodeBase {
  readonly kind: 'Collect';
  readonly groups: readonly { readonly variable: VariableId; readonly expression: PlanExpression }[];
  readonly aggregates: readonly { readonly variable: VariableId; readonly function: string; readonly argument?: PlanExpression }[];
  readonly into?: {
    readonly variable: VariableId;
    readonly projection?: PlanExpression;
    /** Without a projection: the variables that become attributes of each group member. */
    readonly keep: readonly { readonly name: string; readonly variable: VariableId }[];
  };
  readonly count?: VariableId;
}

/**
 * The exchange: `fragment` runs on the shards (on the owners alone, where `keys` lists the documents) and its rows come back. `unsorted` takes
 * blocks as they come, `sorted` merges streams that each shard sorted, `count` adds the shards' counts.
 */
export interface GatherNode extends NodeBase {
  readonly kind: 'Gather';
  readonly collection: string;
  readonly fragment: readonly PlanNode[];
  /** Variables of the coordinator that the fragment reads; their values travel with it. */
  readonly inputs: readonly VariableId[];
  /** Variables that come back; with `projections` only these attributes of a document. */
  readonly outputs: readonly { readonly variable: VariableId; readonly projections?: readonly string[] }[];
  readonly merge:
    | { readonly kind: 'unsorted' }
    | { readonly kind: 'sorted'; readonly keys: readonly SortKey[] }
    | { readonly kind: 'count'; readonly variable: VariableId };
  /** The fragment writes: it runs inside the query's transaction and is not retried. */
  readonly writes: boolean;
  /** The only keys or ids that can match, as an array; what is no string in it names no document. */
  readonly keys?: PlanExpression;
}

/** One step of a plan. A plan is a sequence: every node pulls rows from the one before it. */
export type PlanNode =
  | (NodeBase & { readonly kind: 'Singleton' })
  | (NodeBase & {
      readonly kind: 'EnumerateCollection';
      readonly collection: string;
      readonly variable: VariableId;
      /** Point reads of these keys or ids instead of a scan: the transaction has read exactly them, present or not. */
      readonly keys?: PlanExpression;
    })
  | (NodeBase & { readonly kind: 'EnumerateList'; readonly list: PlanExpression; readonly variable: VariableId })
  | (NodeBase & { readonly kind: 'Calculation'; readonly variable: VariableId; readonly expression: PlanExpression })
  | (NodeBase & { readonly kind: 'Filter'; readonly condition: PlanExpression })
  /** `limit`: only so many rows of the order are needed (top-k). */
  | (NodeBase & { readonly kind: 'Sort'; readonly keys: readonly SortKey[]; readonly limit?: number })
  | (NodeBase & { readonly kind: 'Limit'; readonly offset: number; readonly count: number | null })
  | (NodeBase & {
      readonly kind: 'Subquery';
      readonly variable: VariableId;
      readonly nodes: readonly PlanNode[];
      readonly guards: readonly Guard[];
    })
  | (NodeBase & { readonly kind: 'Return'; readonly value: PlanExpression; readonly distinct: boolean })
  | CollectNode
  | ModificationNode
  | InferNode
  | EmbedNode
  | RerankNode
  | AdapterNode
  | EmbedRowsNode
  | GatherNode;
