import type { Counter, Histogram, Metrics } from '../platform/index.js';

export interface ExecutionMetrics {
  readonly queries: Counter;
  readonly duration: Histogram;
}

/** Metrics of queries. */
export function declareExecutionMetrics(metrics: Metrics): ExecutionMetrics {
  return {
    queries: metrics.counter({ name: 'queries_total', help: 'queries that ended, by outcome', labels: ['outcome'] }),
    duration: metrics.histogram({
      name: 'query_seconds',
      help: 'duration of queries, from planning to the last row',
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120],
    }),
  };
}
