import type { ModelProgress } from '../models/index.js';
import { ProgressBar } from './ProgressBar.js';

const words = { download: 'fetching', prepare: 'preparing', verify: 'verifying', copy: 'copying' } as const;

/** Runs work on a model with a bar for each of its phases. */
export async function showModelProgress<Value>(work: (onProgress: (progress: ModelProgress) => void) => Promise<Value>): Promise<Value> {
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
    return await work(onProgress);
  } finally {
    bar?.end();
  }
}
