import { z } from 'zod';
import { cooperationOptions } from '../cooperation/index.js';
import { executionOptions } from '../execution/index.js';
import { gatewayOptions } from '../gateway/index.js';
import { inferenceOptions } from '../inference/index.js';
import { membershipOptions } from '../membership/index.js';
import { engineOptions } from '../models/index.js';
import { longestTextDefault } from '../platform/index.js';
import { routingOptions } from '../routing/index.js';
import { rpcOptions } from '../rpc/index.js';
import { storageOptions } from '../storage/index.js';
import { transactionOptions } from '../transactions/index.js';

const shardId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/);
const modelFile = z.strictObject({ name: z.string().min(1).max(256), path: z.string().min(1), digest: z.string().regex(/^[0-9a-f]{64}$/) });
/** A shard tells the others of at most 64 models, its own two among them. */
const servedModelsMax = 62;
const vectorFields = {
  pooling: z.enum(['mean', 'cls', 'last']).optional().describe('which rows of a text become its vector; absent = what the file says'),
  dimensionsShorter: z
    .array(z.int().min(1))
    .max(64)
    .optional()
    .describe('lengths that vectors may be cut to, where the makers of the model name some; absent = what the file says'),
  textTokensMax: z
    .int()
    .min(16)
    .max(131_072)
    .exactOptional()
    .describe(
      `longest text to embed, tokens, where the model reads so long ones; absent = ${longestTextDefault.decoder}, of an encoder ${longestTextDefault.encoder}: it reads a text in one pass, in which the engine does nothing else; memory for it is taken at the start`,
    ),
};
const sequences = z.int().min(1).max(256);
const contextTokens = z.int().min(256).max(1_048_576);
const servedModel = modelFile.extend({
  kind: z.enum(['chat', 'embedding']),
  sequences: sequences.exactOptional().describe('of its engine; absent = as the engines of the cluster'),
  contextTokens: contextTokens.exactOptional().describe('tokens a sequence of its engine; absent = as the engines of the cluster'),
  ...vectorFields,
});
const share = z.number().min(0).max(1);

const adapterFigures = z.strictObject({
  accuracyDelta: z.number().min(-1).max(1),
  baseAccuracy: share,
  adapterAccuracy: share,
  performanceDeltaP99Ms: z.number().min(-1e6).max(1e6),
  trainingSamples: z.int().min(0),
  federationRound: z.int().min(0),
  source: z.enum(['measured', 'declared']),
});

/** Options that must be the same on all shards of a cluster. */
const clusterOptions = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .describe('name of the cluster, part of every certificate'),
  initialShards: z.array(shardId).min(1).max(4096).describe('the shards that the ring is created over at the first start'),
  sequences: sequences.default(16).describe('sequences of an engine'),
  contextTokens: contextTokens.default(2_048).describe('tokens a sequence'),
  chatModel: modelFile.describe('model of `default` in chat and INFER'),
  embeddingModel: modelFile.extend(vectorFields).describe('model of `default` in embeddings, EMBED and RERANK'),
});

/** Options of one process. */
const processOptions = z.strictObject({
  shardId,
  host: z.string().default('127.0.0.1').describe('address that HTTP and RPC listen on'),
  httpPort: z.int().min(0).max(65_535).describe('port of HTTP; 0 = any'),
  rpcPort: z.int().min(0).max(65_535).describe('port of RPC between shards; 0 = any'),
  apiKey: z.string().min(16).optional().describe('key that every request must carry; needed off loopback'),
  threads: z.int().min(1).max(1024).default(1).describe('compute threads of the engine'),
  gpuLayers: z
    .int()
    .min(0)
    .max(512)
    .default(0)
    .describe('layers of the chat model on a GPU; needs the platform package of llama.cpp for it; untested on GPUs'),
  queueRequestsMax: z.int().min(1).default(128).describe('requests that wait for the engine; more get 429'),
  models: z
    .array(servedModel)
    .max(servedModelsMax)
    .default([])
    .describe('further models, each on an engine of its own that the first request for it starts; adapters belong to the chat model alone'),
  adapters: z
    .array(
      z.strictObject({
        domain: z.string().min(1).max(128),
        path: z.string().min(1),
        scale: z.number().min(0).max(100).default(1),
        figures: adapterFigures,
      }),
    )
    .max(256)
    .default([]),
  acceptEmptyStore: z
    .boolean()
    .default(false)
    .describe('the shard starts with a store that is not the one it had: the documents of that one are given up'),
  garbageIntervalMs: z.int().min(100).default(5_000).describe('time between two rounds of garbage collection over all rows, ms'),
  garbagePauseMs: z
    .int()
    .min(1)
    .default(100)
    .describe('time between two steps of one round, ms; with garbageRowsMax it bounds how fast rows are looked at'),
  resolveIntervalMs: z.int().min(50).default(1_000).describe('time between two looks for transactions in doubt, ms'),
  loadIntervalMs: z.int().min(10).default(200).describe('time between two looks at the own load, ms'),
});

const shape = z.strictObject({
  cluster: clusterOptions,
  process: processOptions,
  storage: storageOptions.prefault({}),
  rpc: rpcOptions.prefault({}),
  transactions: transactionOptions.prefault({}),
  membership: membershipOptions.prefault({}),
  routing: routingOptions.prefault({}),
  cooperation: cooperationOptions.prefault({}),
  engine: engineOptions.prefault({}),
  inference: inferenceOptions.prefault({}),
  execution: executionOptions.prefault({}),
  gateway: gatewayOptions.prefault({}),
});

/** Everything a shard is told, resolved and frozen. Unknown names are errors. */
export const shardConfig = shape.superRefine(({ cluster, process, engine }, context) => {
  const path = ['process', 'models'];
  const taken = new Set(['default', cluster.chatModel.name, cluster.embeddingModel.name]);
  for (const [index, { name }] of process.models.entries()) {
    if (taken.has(name)) context.addIssue({ code: 'custom', path: [...path, index, 'name'], message: `another model is called ${name}` });
    taken.add(name);
  }
  if (process.models.length > 0 && engine.openai !== undefined)
    context.addIssue({ code: 'custom', path, message: 'a model server in the place of the engine serves no files' });
});

export type ShardConfig = z.infer<typeof shardConfig>;
