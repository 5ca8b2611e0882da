import { HubPuller, ModelRegistry, pinnedModels } from '../models/index.js';
import { PinoLogger } from '../platform/node/index.js';
import { DiskModelCache } from './DiskModelCache.js';
import { openHub } from './openHub.js';

/** The registry of models on this machine. `hub`: base address of a hub, in the place of HF_ENDPOINT. Errors: USAGE. */
export function openModelRegistry(options: { readonly hub?: string | undefined } = {}): ModelRegistry {
  const logger = PinoLogger.open({ level: 'error', destination: 2 });
  const cache = new DiskModelCache();
  const hub = new HubPuller({ hub: openHub(options.hub), cache: cache.hub });
  return new ModelRegistry({ models: pinnedModels, cache, hub, logger });
}
