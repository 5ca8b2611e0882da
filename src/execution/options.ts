import { z } from 'zod';

/** Running queries. Model options are in `OPTIONS` of each call. */
export const executionOptions = z.strictObject({
  memoryLimitBytes: z.int().min(1024).default(268_435_456).describe('bytes one query may buffer on one shard when it gives no memoryLimit'),
  memoryTotalBytesMax: z
    .int()
    .min(1024)
    .default(1_073_741_824)
    .describe('bytes that all queries of one shard may hold together; beyond it the one that asks for more is ended'),
  runtimeMsMax: z.int().min(1).default(600_000).describe('a query that runs longer is killed when it gives no maxRuntime, ms'),
  frameBytesMax: z.int().min(1024).default(1_048_576).describe('rows of one frame between shards, bytes of their JSON, about'),
  scanBytesMax: z.int().min(1024).default(4_194_304).describe('documents that a scan reads at a time, bytes as they are stored, about'),
  requestBytesMax: z
    .int()
    .min(1024)
    .default(8_388_608)
    .describe('documents or rows of one request between shards, and of its answer, bytes of memory, about; more are split'),
  subqueryRowsMax: z
    .int()
    .min(1)
    .max(256)
    .default(64)
    .describe('rows whose subqueries run side by side where these call models, so that their calls go out together'),
  embedTextsMax: z.int().min(1).default(256).describe('texts of one embedding request to the engine, documents of one rerank request'),
  embedRowsMax: z.int().min(1).max(4_096).default(64).describe('stored rows whose vectors LLM EMBED … FOR asks for and commits at a time'),
  embedCharactersMax: z.int().min(1).default(262_144).describe('characters of the texts of these rows, about; more are split'),
  embedScanRowsMax: z.int().min(1).max(1_000).default(128).describe('stored rows that LLM EMBED … FOR reads at a time'),
  embedAheadMax: z
    .int()
    .min(1)
    .max(16)
    .default(2)
    .describe('batches of LLM EMBED … FOR that are with the model on one shard while another is committed'),
  embedJobsMax: z.int().min(1).default(32).describe('statements LLM EMBED … FOR that run or wait on one shard'),
  embedRoundsMax: z
    .int()
    .min(1)
    .default(100)
    .describe('times that LLM EMBED … FOR looks again at rows that were written while it ran; then it tells how many it left'),
  embedChangedKeysMax: z
    .int()
    .min(1)
    .default(65_536)
    .describe('keys of rows written while LLM EMBED … FOR runs that it remembers; beyond it all rows are looked at again'),
  embedConflictsMax: z.int().min(1).default(8).describe('tries to commit a batch of LLM EMBED … FOR beside other writers of its rows'),
  embedRetriesMax: z
    .int()
    .min(0)
    .default(30)
    .describe('times that one request of LLM EMBED … FOR is sent again to an engine that is lost, starting or full'),
  embedRetryMs: z.int().min(1).default(1_000).describe('pause before that, ms'),
  embedResumeMs: z.int().min(1).default(10_000).describe('pause before a background job that failed for now goes on, ms'),
  rerankRowsMax: z
    .int()
    .min(1)
    .max(64)
    .default(8)
    .describe('rows whose lists are ranked side by side, so that they share passes over the model'),
  blocksQueuedMax: z.int().min(2).default(4).describe('blocks a shard may send ahead of the coordinator'),
  expressionStepsMax: z
    .int()
    .min(1000)
    .default(5_000_000)
    .describe('elements that the expressions of one block may work through without a pause'),
  paceMs: z.int().min(1).default(5).describe('all queries of a shard together let its event loop turn after working so long, ms'),
  turnsTogetherMax: z
    .int()
    .min(1)
    .default(8)
    .describe('parts of queries that may work in one turn of the event loop while turns are short; each works through a block at most'),
  turnsQueuedMax: z
    .int()
    .min(1)
    .default(65_536)
    .describe('parts of queries of one shard that may wait for their turn to work; one more is ended with its query'),
  touchIntervalMs: z.int().min(10).default(15_000).describe('how often a long query tells shards that its transaction is alive, ms'),
  warningsMax: z.int().min(0).default(10).describe('warnings kept of one query when it gives no maxWarningCount'),
  answersRememberedMax: z.int().min(1).default(4_096).describe('model answers a query remembers for identical requests'),
  queriesMax: z.int().min(1).default(512).describe('queries one shard coordinates at a time'),
});

export type ExecutionOptions = z.infer<typeof executionOptions>;
