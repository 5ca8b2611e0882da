import type { Counter, Histogram, Metrics } from '../platform/index.js';

export interface CooperationMetrics {
  readonly fallbacks: Counter;
  readonly routed: Counter;
  readonly retries: Counter;
  readonly routingSeconds: Histogram;
  readonly scatterRequests: Counter;
  readonly prefixTransfers: Counter;
  readonly prefixBytes: Counter;
  readonly prefixSeconds: Histogram;
}

/** Metrics of routing and scattering. */
export function declareCooperationMetrics(metrics: Metrics): CooperationMetrics {
  return {
    fallbacks: metrics.counter({
      name: 'domain_routing_fallback_total',
      help: 'requests with a domain that fell through all tiers, by reason (paper §IV-A)',
      labels: ['reason'],
    }),
    routed: metrics.counter({ name: 'routing_decisions_total', help: 'routed requests by decision', labels: ['decision'] }),
    retries: metrics.counter({ name: 'inference_retries_total', help: 'requests sent to another shard, by reason', labels: ['reason'] }),
    routingSeconds: metrics.histogram({
      name: 'domain_routing_seconds',
      help: 'time to decide where a request goes',
      buckets: [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005],
    }),
    prefixTransfers: metrics.counter({
      name: 'kv_prefix_transfers_total',
      help: 'prompt prefixes that another shard holds, by what became of moving them: moved, or why they were computed (R27)',
      labels: ['outcome'],
    }),
    prefixBytes: metrics.counter({ name: 'kv_prefix_transfer_bytes_total', help: 'bytes of prompt rows received from other shards' }),
    prefixSeconds: metrics.histogram({
      name: 'kv_prefix_transfer_seconds',
      help: 'time to move a prompt prefix here',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    }),
    scatterRequests: metrics.counter({ name: 'scatter_requests_total', help: 'requests of scattered batches, one a target shard' }),
  };
}
