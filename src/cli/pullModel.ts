import type { InstalledModel, ModelKind } from '../models/index.js';
import { openModelRegistry } from './openModelRegistry.js';
import { showModelProgress } from './showModelProgress.js';

/** A model by name, fetched with a progress bar when it is not there. Errors: those of ModelRegistry.ensure. */
export async function pullModel(request: {
  readonly name: string;
  readonly kind: ModelKind;
  readonly hub?: string | undefined;
  readonly signal: AbortSignal;
}): Promise<InstalledModel> {
  return showModelProgress((onProgress) => openModelRegistry(request).ensure({ ...request, onProgress }));
}
