import { checkEngineMemory, estimateEngineMemory } from '../../models/index.js';
import { NodeMemoryReader, readModelDescription } from '../../platform/node/index.js';
import type { ModelFile } from './prepareShards.js';
import type { UpOptions } from './UpOptions.js';

/** Refuses a cluster whose engines do not fit into memory together, before any is started. Errors: MODEL_TOO_LARGE. */
export function checkMemory(
  options: Pick<UpOptions, 'shards' | 'sequences' | 'contextTokens'>,
  models: { readonly chat: ModelFile; readonly embedding: ModelFile },
): void {
  const { shards, sequences, contextTokens } = options;
  const chat = readModelDescription(models.chat.path);
  const embedding = readModelDescription(models.embedding.path);
  const memory = estimateEngineMemory({ chat, embedding, sequences, contextTokens });
  checkEngineMemory({ memory, engines: shards, free: new NodeMemoryReader().read() });
}
