import type { Metrics } from '../platform/index.js';

export interface PoolMetrics {
  loaded(model: string, bytes: number): void;
  loadFailed(model: string, code: string): void;
  unloaded(model: string, reason: 'memory' | 'idle'): void;
  /** Its engine came or went. */
  serves(model: string, isUp: boolean): void;
  requests(model: string, count: number): void;
}

/** Declares what the shard shows of the models it serves beside its own (R18). Labels are the names of its configuration. */
export function declarePoolMetrics(metrics: Metrics): PoolMetrics {
  const labels = ['model'];
  const loaded = metrics.gauge({ name: 'model_loaded', help: '1 while the engine of a served model is up.', labels });
  const bytes = metrics.gauge({ name: 'model_memory_bytes', help: 'Memory that a served model is counted with, by the estimate.', labels });
  const requests = metrics.gauge({ name: 'model_requests', help: 'Requests in a served model, or waiting for it.', labels });
  const loads = metrics.counter({ name: 'model_loads_total', help: 'Times a served model was loaded.', labels });
  const failures = metrics.counter({
    name: 'model_load_failures_total',
    help: 'Times a served model could not be loaded, by error.',
    labels: ['model', 'code'],
  });
  const evictions = metrics.counter({
    name: 'model_evictions_total',
    help: 'Times a served model was unloaded, for the memory of another or because nobody asked for it.',
    labels: ['model', 'reason'],
  });
  return {
    loaded: (model, heldBytes) => {
      loads.add(1, { model });
      bytes.set(heldBytes, { model });
    },
    loadFailed: (model, code) => failures.add(1, { model, code }),
    unloaded: (model, reason) => {
      evictions.add(1, { model, reason });
      bytes.set(0, { model });
    },
    serves: (model, isUp) => loaded.set(isUp ? 1 : 0, { model }),
    requests: (model, count) => requests.set(count, { model }),
  };
}
