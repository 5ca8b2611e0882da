import type { LoadReport, Metrics } from '../platform/index.js';

export interface EngineMetrics {
  restarted(): void;
  publish(load: LoadReport): void;
}

/** Declares what the shard shows of its engine: the engine's own metrics live in another process, its load reports carry them (R19). */
export function declareEngineMetrics(metrics: Metrics): EngineMetrics {
  const gauge = (name: string, help: string) => metrics.gauge({ name, help });
  const pending = gauge('pending_llm_requests', 'Generation requests queued or running in the engine.');
  const queueMs = gauge('avg_llm_queue_ms', 'Mean time in queue of the last admissions, milliseconds.');
  const adapters = gauge('active_lora_adapters', 'LoRA adapters with running requests.');
  const busy = gauge('llm_sequences_busy', 'Sequences of the context that hold a request.');
  const restarts = metrics.counter({ name: 'engine_restarts_total', help: 'Times the engine process was started again.' });
  return {
    restarted: () => restarts.add(),
    publish: (load) => {
      pending.set(load.pendingLlmRequests);
      queueMs.set(load.avgLlmQueueMs);
      adapters.set(load.activeLoraAdapters.length);
      busy.set(load.sequencesBusy);
    },
  };
}
