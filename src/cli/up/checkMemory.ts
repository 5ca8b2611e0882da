import { checkEngineMemory, type EngineMemory, estimateEngineMemory } from '../../models/index.js';
import type { FreeMemory } from '../../platform/index.js';
import { NodeMemoryReader, readModelDescription } from '../../platform/node/index.js';
import type { ModelFile } from './ModelFile.js';
import type { ServedFile } from './ServedFile.js';
import type { UpOptions } from './UpOptions.js';

type Options = Pick<UpOptions, 'shards' | 'sequences' | 'contextTokens' | 'memoryBudgetBytes'>;

/**
 * Refuses a cluster whose engines do not fit into memory together, before any is started; and a model served beside them that would not
 * fit even if it were the only one. Errors: MODEL_TOO_LARGE.
 */
export function checkMemory(
  options: Options,
  models: { readonly chat: ModelFile; readonly embedding: ModelFile; readonly served: readonly ServedFile[] },
): void {
  const { shards, sequences, contextTokens, memoryBudgetBytes } = options;
  const shape = { sequences, contextTokens };
  const own = estimateEngineMemory({
    ...shape,
    chat: readModelDescription(models.chat.path),
    embedding: readModelDescription(models.embedding.path),
  });
  const free = new NodeMemoryReader().read();
  const budget = memoryBudgetBytes === undefined ? undefined : { bytes: memoryBudgetBytes, bound: 'the memory budget of a shard' };
  checkEngineMemory({ memory: own, engines: shards, free });
  checkEngineMemory({ memory: own, engines: 1, free: budget });
  for (const { name, kind, path } of models.served) {
    const memory = estimateEngineMemory({ ...shape, [kind]: readModelDescription(path) });
    checkEngineMemory({ memory, engines: 1, model: name, free: beside(own, 1, budget) });
    checkEngineMemory({ memory, engines: 1, model: name, free: beside(own, shards, free) });
  }
}

/** What so many engines of the shards' own leave; their weights are counted once. */
const beside = ({ totalBytes, weightsBytes }: EngineMemory, engines: number, free: FreeMemory | undefined): FreeMemory | undefined =>
  free && {
    bytes: Math.max(0, free.bytes - weightsBytes - engines * (totalBytes - weightsBytes)),
    bound: `${free.bound} beside the shards' own models`,
  };
