import type { Counter, Histogram, Metrics } from '../platform/index.js';

export interface RpcMetrics {
  readonly calls: Counter;
  readonly retries: Counter;
  readonly breakerOpened: Counter;
  readonly duration: Histogram;
  readonly receivedBytes: Counter;
}

/** Metrics of calls between shards. */
export function declareRpcMetrics(metrics: Metrics): RpcMetrics {
  return {
    calls: metrics.counter({ name: 'rpc_calls_total', help: 'calls to other shards by method and outcome', labels: ['method', 'outcome'] }),
    retries: metrics.counter({ name: 'rpc_retries_total', help: 'repeated calls by method', labels: ['method'] }),
    breakerOpened: metrics.counter({ name: 'circuit_breaker_open_total', help: 'breakers that opened, by peer', labels: ['shard'] }),
    duration: metrics.histogram({
      name: 'rpc_call_seconds',
      help: 'duration of calls to other shards by method',
      labels: ['method'],
      buckets: [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    }),
    receivedBytes: metrics.counter({
      name: 'rpc_received_bytes_total',
      help: 'request bytes received from other shards by method',
      labels: ['method'],
    }),
  };
}
