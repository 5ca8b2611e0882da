import type { LoadReport } from './ModelService.js';

/** Of an engine that has so many sequences and nothing to do. */
export function idleLoad(sequencesTotal: number): LoadReport {
  return {
    pendingLlmRequests: 0,
    avgLlmQueueMs: 0,
    activeLoraAdapters: [],
    sequencesTotal,
    sequencesBusy: 0,
    queuedByPriority: { low: 0, normal: 0, high: 0, critical: 0 },
    stepMs: 0,
    prefixes: '',
  };
}
