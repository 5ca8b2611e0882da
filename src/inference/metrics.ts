import type { Gauge, LoadReport, Metrics } from '../platform/index.js';

export interface InferenceMetrics {
  /** Sets all gauges; called every cycle (R19). */
  publish(load: LoadReport): void;
}

/** Declares the scheduler's metrics (R19, paper §III-C). */
export function declareInferenceMetrics(metrics: Metrics): InferenceMetrics {
  const gauge = (name: string, help: string): Gauge => metrics.gauge({ name, help });
  const pending = gauge('pending_llm_requests', 'Generation requests queued or running.');
  const queueMs = gauge('avg_llm_queue_ms', 'Mean time in queue of the last admissions, milliseconds.');
  const adapters = gauge('active_lora_adapters', 'LoRA adapters with running requests.');
  return {
    publish: (load) => {
      pending.set(load.pendingLlmRequests);
      queueMs.set(load.avgLlmQueueMs);
      adapters.set(load.activeLoraAdapters.length);
    },
  };
}
