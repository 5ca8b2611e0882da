import type { EvaluationContext, GatherNode, ModificationNode, PlanNode } from '../aql/index.js';
import type { JsonValue, ShardId } from '../base/index.js';
import type { BatchResult, ClusterAdapters, ClusterRequest, ScatterReport } from '../cooperation/index.js';
import type { EmbedRequest, EmbedResult, RerankRequest, RerankResult } from '../platform/index.js';
import type { DocumentWrite, WriteOutcome } from './applyWrites.js';
import type { Block } from './Block.js';
import type { EmbedScatter } from './embedding/EmbedScatter.js';
import type { Rounds } from './inference/InferRounds.js';
import type { MemoryAccount } from './MemoryAccount.js';
import type { ExecutionOptions } from './options.js';
import type { Pacer } from './Pacer.js';
import type { QueryStats } from './QueryStats.js';
import type { WarningList } from './WarningList.js';

type Enumerate = Extract<PlanNode, { readonly kind: 'EnumerateCollection' }>;

/** Inference as operators call it; ClusterModelService is one. */
export interface ModelAccess {
  generateBatch(
    entries: readonly ClusterRequest[],
    signal: AbortSignal,
  ): { readonly results: AsyncIterable<BatchResult>; readonly report: ScatterReport };
  /** On this shard: texts do not leave it. */
  embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult>;
  /** On this shard. */
  rerank(request: RerankRequest, signal: AbortSignal): Promise<RerankResult>;
}

/** Adapters of the cluster as statements call them. */
export type AdapterAccess = Pick<ClusterAdapters, 'list' | 'load' | 'unload'>;

/** Which part of the query reads: its expressions and pauses count there, and with it reading ends. */
export type QueryPart = Pick<SequenceContext, 'evaluation' | 'memory' | 'pacer' | 'rounds' | 'signal'>;

/** Where a sequence runs decides what reading and writing mean: a shard scans its own documents, the coordinator gathers from shards. */
export interface Site {
  scan(node: Enumerate, input: AsyncIterable<Block>, part: QueryPart): AsyncIterable<Block>;
  /** `base` is the row that a count, which belongs to no input row, is written into. */
  gather(node: GatherNode, input: AsyncIterable<Block>, part: QueryPart & { readonly base: readonly JsonValue[] }): AsyncIterable<Block>;
  /** Outcomes in the order of the writes. Throws the first error unless the node ignores errors. */
  write(node: ModificationNode, writes: readonly DocumentWrite[]): Promise<readonly WriteOutcome[]>;
}

/** What the operators of one query share on one shard. */
export interface SequenceContext {
  readonly queryId: string;
  readonly shardId: ShardId;
  readonly site: Site;
  readonly models: ModelAccess;
  /** On a coordinator; fragments hold no statements. */
  readonly adapters: AdapterAccess | undefined;
  /** On a coordinator. */
  readonly embedRows: Pick<EmbedScatter, 'run'> | undefined;
  readonly evaluation: EvaluationContext;
  readonly signal: AbortSignal;
  readonly memory: MemoryAccount;
  readonly pacer: Pacer;
  readonly stats: QueryStats;
  readonly warnings: WarningList;
  readonly options: ExecutionOptions;
  /** Answers of the query so far, for identical requests. */
  readonly answers: Map<string, JsonValue>;
  /** Inside subqueries that run together: where their model calls meet. */
  readonly rounds?: Rounds;
}
