import type { ModelProgress } from './ModelProgress.js';

/** Something done to a model that takes its time. */
export interface ModelWork {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ModelProgress) => void;
}
