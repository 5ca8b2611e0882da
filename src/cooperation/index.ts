// cooperation: what shards do together for an answer: routing with retries, scattered batches, load-then-announce (R24, R25, paper §IV).
export { AdapterPublisher, type AdapterToPublish } from './AdapterPublisher.js';
export { type AdapterLoad, AdapterService } from './AdapterService.js';
export { adapterMethods } from './adapterMethods.js';
export { ClusterAdapters, type KnownAdapter } from './ClusterAdapters.js';
export { ClusterModelService } from './ClusterModelService.js';
export type {
  BatchOutcome,
  BatchResult,
  ClusterAnswer,
  ClusterEvent,
  ClusterRequest,
  RoutingReport,
  ScatterReport,
} from './ClusterRequest.js';
export { cooperationError, cooperationErrors } from './errors.js';
export { declareCooperationMetrics } from './metrics.js';
export { modelMethods } from './modelMethods.js';
export { type CooperationOptions, cooperationOptions } from './options.js';
export { PrefixFetcher } from './prefix/PrefixFetcher.js';
export { prefixMethods } from './prefix/prefixMethods.js';
export { type ClusterJobList, ClusterJobs } from './progress/ClusterJobs.js';
export type { JobReport, JobState } from './progress/JobReport.js';
export { jobMethods } from './progress/jobMethods.js';
export { type JobProgress, ProgressRegistry } from './progress/ProgressRegistry.js';
export { ReportingLauncher } from './progress/ReportingLauncher.js';
export { RequestRouter } from './RequestRouter.js';
export { withHeartbeat } from './withHeartbeat.js';
