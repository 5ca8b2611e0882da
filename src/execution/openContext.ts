import type { EvaluationContext } from '../aql/index.js';
import type { ShardId } from '../base/index.js';
import type { Random } from '../platform/index.js';
import type { FragmentLimits } from './DistributedExecutor.js';
import { MemoryAccount } from './MemoryAccount.js';
import { MemoryLimit } from './MemoryLimit.js';
import type { ExecutionOptions } from './options.js';
import { Pacer } from './Pacer.js';
import type { QueryMemory } from './QueryMemory.js';
import { emptyStats } from './QueryStats.js';
import type { AdapterAccess, ModelAccess, SequenceContext, Site } from './SequenceContext.js';
import type { TurnPart, Turns } from './Turns.js';
import { WarningList } from './WarningList.js';

export interface ContextParts {
  readonly queryId: string;
  readonly shardId: ShardId;
  /** Where the sequence runs; it may ask for the context once it works. */
  readonly site: (context: () => SequenceContext) => Site;
  readonly models: ModelAccess;
  readonly adapters: AdapterAccess | undefined;
  readonly embedRows: SequenceContext['embedRows'];
  readonly turns: Turns;
  /** Which waits for its turns. */
  readonly part: TurnPart;
  readonly random: Random;
  readonly options: ExecutionOptions;
  readonly queryMemory: QueryMemory;
  readonly limits: FragmentLimits;
  /** Of the query, the same on every shard. */
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** What the operators of a query share on its coordinator, or those of a fragment on its shard. Whoever opens it ends `memory.limit`. */
export function openContext(parts: ContextParts): SequenceContext {
  const { queryId, shardId, models, adapters, embedRows, turns, part, options, limits, signal } = parts;
  const memory = new MemoryAccount(new MemoryLimit(limits.memoryLimitBytes, parts.queryMemory));
  const pacer = new Pacer({ turns, part, signal, memory, stepsMax: options.expressionStepsMax });
  const warnings = new WarningList(limits);
  const evaluation: EvaluationContext = {
    nowMs: parts.nowMs,
    random: () => parts.random.next(),
    warn: (code, message) => warnings.add(code, message),
    step: (count) => pacer.step(count),
    memoryLimitBytes: limits.memoryLimitBytes,
    allocate: (bytes) => memory.allocate(bytes),
    scratch: [],
  };
  const own = { queryId, shardId, models, adapters, embedRows, evaluation, signal, memory, pacer, warnings, options };
  const context: SequenceContext = { ...own, site: parts.site(() => context), stats: emptyStats(), answers: new Map() };
  return context;
}
