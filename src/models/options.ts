import { z } from 'zod';

/** A server with the API of OpenAI in the place of an engine of the shard's own. */
const openAiServer = z.strictObject({
  url: z
    .string()
    .regex(/^https?:\/\/[^/\s]+$/)
    .describe('http://host:port of the server, without /v1'),
  apiKeyFile: z.string().min(1).exactOptional().describe('file that holds its key'),
  chatModel: z.string().min(1).exactOptional().describe('name of the chat model there; absent = its first'),
  embeddingModel: z.string().min(1).exactOptional().describe('name of the embedding model there; absent = nothing is embedded'),
});

/** Options of the engine's supervision. */
export const engineOptions = z.strictObject({
  restartDelayMsMin: z.int().min(1).default(200).describe('wait before the second restart in a row, ms; the first is at once'),
  restartDelayMsMax: z.int().min(1).max(5000).default(5000).describe('the wait doubles up to this, ms'),
  stableMs: z.int().min(1).default(30_000).describe('an engine that lived this long starts the count of restarts anew, ms'),
  readyWaitMsMax: z.int().min(0).default(5000).describe('how long a request waits for an engine that restarts before ENGINE_LOADING, ms'),
  loadingRetrySeconds: z.int().min(1).max(600).default(2).describe('what Retry-After of ENGINE_LOADING says, seconds'),
  requestRetriesMax: z
    .int()
    .min(0)
    .max(3)
    .default(2)
    .describe('times a request without text is sent again after its engine was lost; the last one tells whether it is the reason'),
  openai: openAiServer.exactOptional().describe('a model server that you run, instead of an engine child'),
  checkMemory: z.boolean().default(true).describe('an engine that would need more memory than is free is not started'),
  launchMsMax: z
    .int()
    .min(1000)
    .default(600_000)
    .describe('an engine that is not warm after so long is ended, ms: models are read and checked'),
  heartbeatIntervalMs: z.int().min(10).default(1000).describe('how often the engine is asked for a sign of life, ms'),
  heartbeatsMissedMax: z
    .int()
    .min(2)
    .default(20)
    .describe(
      'beats in a row without an answer after which a hung engine is killed; the engine answers between two steps, and the longest step ' +
        '(256 rows of prefill with a pack of embeddings) takes under 2 s on one slow core: ten times that',
    ),
  memoryFactorMax: z
    .number()
    .min(1)
    .max(100)
    .default(1.5)
    .describe(
      'an engine that holds more than so many times its estimate (or what it held when warm, where that is more), and its full store of ' +
        'prefixes, is killed; looked at with each beat, on Linux, unless checkMemory is false',
    ),
  quarantineMs: z.int().min(1).default(600_000).describe('how long such a request is refused, and suspected, ms'),
  suspectsMax: z.int().min(1).default(1024).describe('requests that are suspected at a time'),
  queueTimeHalfLifeMs: z.int().min(1).default(2000).describe('the reported mean queue time fades by half in this while nobody waits, ms'),
  memoryBudgetBytes: z
    .int()
    .min(1)
    .exactOptional()
    .describe(
      "memory that the engines of this shard may hold together by the estimate, the shard's own included, bytes; absent = what is free when one is started",
    ),
  machineShare: z
    .strictObject({ shards: z.int().min(1), freeBytes: z.int().min(0), totalBytes: z.int().min(0) })
    .exactOptional()
    .describe('what `up` found free on the machine when it divided it into the memory budgets of its shards, bytes; errors say so'),
  idleUnloadMs: z
    .int()
    .min(0)
    .default(0)
    .describe(
      'a served model that nobody asked for so long is unloaded, ms; 0 = only when another one needs its memory, since its next request would wait for the load',
    ),
  loadRetryMs: z
    .int()
    .min(0)
    .default(5000)
    .describe('a served model that could not be loaded is not tried again for so long: requests hear why at once, ms'),
  loadPublishMs: z.int().min(100).default(1000).describe('how often the load of the engine goes into the metrics, ms'),
});

export type EngineOptions = z.infer<typeof engineOptions>;
