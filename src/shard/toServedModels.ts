import type { ServedModel } from '../models/index.js';
import { noModel } from '../platform/index.js';
import type { ShardConfig } from './ShardConfig.js';
import { toEngineConfig } from './toEngineConfig.js';

/** The models that a shard serves beside its own, each with the configuration of its engine. */
export function toServedModels(config: ShardConfig): readonly ServedModel[] {
  const own = toEngineConfig(config);
  return config.process.models.map(({ kind, sequences, contextTokens, ...model }) => {
    const { name, digest } = model;
    const bounds = { sequences: sequences ?? own.sequences, contextTokens: contextTokens ?? own.contextTokens };
    const engine =
      kind === 'chat'
        ? { ...own, ...bounds, chatModel: model, embeddingModel: noModel }
        : { ...own, sequences: 1, contextTokens: own.contextTokens, chatModel: noModel, embeddingModel: model };
    return { name, digest, kind, engine };
  });
}
