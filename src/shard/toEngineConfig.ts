import type { EngineConfig } from '../platform/index.js';
import type { ShardConfig } from './ShardConfig.js';

/** The part of a shard's configuration that its own engine needs. */
export function toEngineConfig({ cluster, process, inference }: ShardConfig): EngineConfig {
  const { chatModel, embeddingModel, sequences, contextTokens } = cluster;
  return {
    chatModel,
    embeddingModel,
    sequences,
    contextTokens,
    threads: process.threads,
    gpuLayers: process.gpuLayers,
    queueRequestsMax: process.queueRequestsMax,
    inference,
  };
}
