import { ModelRegistry, pinnedModels } from '../models/index.js';
import { PinoLogger } from '../platform/node/index.js';
import { DiskModelCache } from './DiskModelCache.js';

/** The registry of models on this machine. */
export function openModelRegistry(): ModelRegistry {
  const logger = PinoLogger.open({ level: 'error', destination: 2 });
  return new ModelRegistry({ models: pinnedModels, cache: new DiskModelCache(), logger });
}
