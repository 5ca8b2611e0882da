import type { LoadReport } from '../platform/index.js';

/** The load of several engines of one shard: counts add up; times are those of the first, which most requests go to. */
export function addLoads(first: LoadReport, others: readonly LoadReport[]): LoadReport {
  const loads = [first, ...others];
  const sum = (figure: (load: LoadReport) => number): number => loads.reduce((total, load) => total + figure(load), 0);
  return {
    ...first,
    pendingLlmRequests: sum((load) => load.pendingLlmRequests),
    sequencesTotal: sum((load) => load.sequencesTotal),
    sequencesBusy: sum((load) => load.sequencesBusy),
    queuedByPriority: {
      low: sum((load) => load.queuedByPriority.low),
      normal: sum((load) => load.queuedByPriority.normal),
      high: sum((load) => load.queuedByPriority.high),
      critical: sum((load) => load.queuedByPriority.critical),
    },
  };
}
