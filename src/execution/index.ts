// execution: runs plans: operators over blocks of rows, fragments on the shards that own the documents, gathering at the coordinator,
// model calls in windows, one transaction a query. Never parses and never routes inference: that is aql and cooperation.
export { DistributedExecutor } from './DistributedExecutor.js';
export type { DocumentOperation, DocumentOptions, DocumentOutcome } from './documents/DocumentOperation.js';
export { type DocumentRequest, DocumentService } from './documents/DocumentService.js';
export { documentMethods } from './documents/documentMethods.js';
export { LocalDocuments } from './documents/LocalDocuments.js';
export { EmbedJobs } from './embedding/EmbedJobs.js';
export { embedMethods } from './embedding/embedMethods.js';
export { executionError, executionErrors } from './errors.js';
export { executionMethods } from './executionMethods.js';
export { FairTurns } from './FairTurns.js';
export { FragmentRunner, type FragmentRunnerParts } from './FragmentRunner.js';
export { KeyGenerator } from './KeyGenerator.js';
export { type ExecutionOptions, executionOptions } from './options.js';
export { QueryMemory } from './QueryMemory.js';
export type { QueryCursor, QueryExtra, QueryOptions, QueryRequest } from './QueryRequest.js';
export { type Explanation, QueryService } from './QueryService.js';
export type { EmbedStats, LlmStats, QueryStats } from './QueryStats.js';
export type { RunningQuery } from './RunningQueries.js';
export type { AdapterAccess, ModelAccess } from './SequenceContext.js';
export { ShardTransactions } from './ShardTransactions.js';
export type { TurnPart, Turns } from './Turns.js';
export type { QueryWarning } from './WarningList.js';
