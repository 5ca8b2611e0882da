import { type EngineConfig, type ModelDescription, noModel } from '../platform/index.js';
import { type EngineMemory, estimateEngineMemory } from './estimateEngineMemory.js';

/** What an engine of this configuration needs, by what its files say. Errors: those of `describe`. */
export function estimateConfigMemory(config: EngineConfig, describe: (path: string) => ModelDescription): EngineMemory {
  const { sequences, contextTokens } = config;
  const described = ({ name, path }: { readonly name: string; readonly path: string }) =>
    name === noModel.name ? undefined : describe(path);
  return estimateEngineMemory({
    chat: described(config.chatModel),
    embedding: described(config.embeddingModel),
    sequences,
    contextTokens,
    textTokens: config.embeddingModel.textTokensMax,
  });
}
