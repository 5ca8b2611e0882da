import type { InstalledModel, ModelProgress } from '../models/index.js';
import { openModelRegistry } from './openModelRegistry.js';
import { ProgressBar } from './ProgressBar.js';

const words = { download: 'fetching', prepare: 'preparing', verify: 'verifying' } as const;

/** A model by name, fetched with a progress bar when it is not there. Errors: those of ModelRegistry.ensure. */
export async function pullModel(request: {
  readonly name: string;
  readonly kind: 'chat' | 'embedding';
  readonly signal: AbortSignal;
}): Promise<InstalledModel> {
  let phase: string | undefined;
  let bar: ProgressBar | undefined;
  const onProgress = (progress: ModelProgress): void => {
    if (progress.phase !== phase) {
      bar?.end();
      bar = new ProgressBar({ label: `${words[progress.phase]} ${progress.model}` });
      phase = progress.phase;
    }
    bar?.update(progress.done, progress.total);
  };
  try {
    return await openModelRegistry().ensure({ ...request, onProgress });
  } finally {
    bar?.end();
  }
}
