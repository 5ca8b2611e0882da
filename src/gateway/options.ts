import { z } from 'zod';

/** The HTTP surface of a shard (R34). */
export const gatewayOptions = z.strictObject({
  bodyBytesMax: z.int().min(1024).default(33_554_432).describe('largest request body, bytes'),
  bodyIdleMs: z.int().min(100).default(5_000).describe('a body of which nothing arrives for so long is refused, ms'),
  discardedBytesMax: z
    .int()
    .min(0)
    .default(134_217_728)
    .describe('bytes of a refused request that are read and forgotten so that its client can read the answer'),
  answerIdleMs: z
    .int()
    .min(100)
    .default(30_000)
    .describe('a connection that takes nothing of its answer for so long is cut, within twice the time, ms'),
  answersUnsentBytesMax: z
    .int()
    .min(1024)
    .default(268_435_456)
    .describe('bytes of answers that wait for clients to read them, over all connections; beyond it requests are refused before they run'),
  cursorsMax: z.int().min(1).default(1_024).describe('open cursors of one shard'),
  cursorsBytesMax: z
    .int()
    .min(1024)
    .default(268_435_456)
    .describe('results that all open cursors of one shard keep, bytes, about; beyond it batches are shorter and no cursor is opened'),
  cursorTtlSeconds: z.number().min(1).default(600).describe('life of an unread cursor, seconds; renewed by reading'),
  cursorTtlMaxSeconds: z.number().min(1).default(3_600).describe('longest life of an unread cursor that a client may ask for, seconds'),
  cursorAheadBytesMax: z
    .int()
    .min(0)
    .default(262_144)
    .describe('results a cursor finds ahead of its reader, bytes; one that is finished holds no place of a running query'),
  countedResultsMax: z.int().min(1).default(1_000_000).describe('results of a query that asks for their count first'),
  batchSize: z.int().min(1).default(1_000).describe('results of one cursor batch'),
  documentsMax: z.int().min(1).default(10_000).describe('documents of one request with many'),
  textsMax: z.int().min(1).default(2_048).describe('texts of one embeddings request, documents of one rerank request'),
  requestTimeoutMs: z.int().min(1000).default(600_000).describe('longest run of one request, ms'),
  streamPingMs: z
    .int()
    .min(10)
    .default(15_000)
    .describe('a stream that is silent for so long gets a comment, so that proxies keep it open, ms'),
  jobEventsMs: z.int().min(10).default(1_000).describe('how often a client that follows the jobs is told what has changed, ms'),
  jobStreamsMax: z.int().min(1).default(16).describe('clients that follow the jobs of the cluster at one shard'),
  messagesMax: z.int().min(1).default(1_024).describe('messages of one chat'),
  choicesMax: z.int().min(1).default(16).describe('answers to one question (n)'),
  promptsMax: z.int().min(1).default(64).describe('prompts of one text completion'),
  answersMax: z
    .int()
    .min(1)
    .default(128)
    .describe('answers to all prompts of one text completion together: more than an engine lets wait could never be given'),
  toolsMax: z.int().min(0).default(128).describe('tools of one chat'),
  toolCallsMax: z.int().min(1).default(16).describe('calls of tools in one answer'),
  answerTokensMax: z.int().min(1).default(1_048_576).describe('tokens that a request may ask for; the context bounds them in any case'),
  chatTokensDefault: z.int().min(1).default(256).describe('tokens of a chat answer where the client names no number'),
  textTokensDefault: z.int().min(1).default(16).describe('tokens of a text completion where the client names no number'),
  inferenceTimeoutMs: z.int().min(1000).default(300_000).describe('longest run of one chat completion, ms'),
});

export type GatewayOptions = z.infer<typeof gatewayOptions>;
