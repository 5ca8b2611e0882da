import { divideMachineMemory, estimateEngineMemory, type ModelFigures } from '../../models/index.js';
import type { FreeMemory, ModelDescription } from '../../platform/index.js';
import type { UpModels } from './prepareShards.js';
import type { ShardMemory } from './ShardMemory.js';
import type { UpOptions } from './UpOptions.js';

type Options = Pick<UpOptions, 'shards' | 'sequences' | 'contextTokens' | 'memoryBudgetBytes'>;

/** Divides what is free on this machine between the shards before any is started (R18). Errors: MODEL_TOO_LARGE, those of `describe`. */
export function shareMemory(
  options: Options,
  models: UpModels,
  { free, describe }: { readonly free: FreeMemory; readonly describe: (path: string) => ModelDescription },
): ShardMemory {
  const { shards, sequences, contextTokens, memoryBudgetBytes: budgetBytes } = options;
  const { textTokensMax: textTokens } = models.embedding;
  const memoryOf = (of: { readonly chat?: ModelFigures; readonly embedding?: ModelFigures }) =>
    estimateEngineMemory({ sequences, contextTokens, textTokens, ...of });
  const own = memoryOf({ chat: describe(models.chat.path), embedding: describe(models.embedding.path) });
  const served = models.served.map(({ name, kind, path }) => ({ name, memory: memoryOf({ [kind]: describe(path) }) }));
  const memoryBudgetBytes = divideMachineMemory({ shards, own, served, budgetBytes }, free);
  return { memoryBudgetBytes, machineShare: { shards, freeBytes: free.bytes, totalBytes: free.totalBytes } };
}
