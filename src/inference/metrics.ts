import type { Gauge, LoadReport, Metrics } from '../platform/index.js';
import type { PrefixMiss } from './pages/LLMPrefixCache.js';
import type { PageCounts } from './pages/PagedKVCache.js';

export interface InferenceMetrics {
  /** Sets all gauges; called every cycle (R19). */
  publish(load: LoadReport): void;
  /** Pages of the model's cells and of the host buffers (R20). */
  publishPages(cells: PageCounts, store: PageCounts): void;
  /** Counts what a prompt found in the prefix cache. */
  prefix(outcome: PrefixMiss | 'hit' | 'refused'): void;
  suspended(): void;
}

/** Declares the scheduler's metrics (R19, paper §III-C). */
export function declareInferenceMetrics(metrics: Metrics): InferenceMetrics {
  const gauge = (name: string, help: string): Gauge => metrics.gauge({ name, help });
  const pending = gauge('pending_llm_requests', 'Generation requests queued or running.');
  const queueMs = gauge('avg_llm_queue_ms', 'Mean time in queue of the last admissions, milliseconds.');
  const adapters = gauge('active_lora_adapters', 'LoRA adapters with running requests.');
  const pages = metrics.gauge({ name: 'kv_pages', help: 'Pages of 16 tokens.', labels: ['pool', 'state'] });
  const prefixes = metrics.counter({
    name: 'kv_prefix_lookups_total',
    help: 'Prompts that were looked up in the prefix cache, by what was found.',
    labels: ['outcome'],
  });
  const suspensions = metrics.counter({ name: 'llm_preemptions_total', help: 'Requests that gave up their sequence and went on later.' });
  const publishPool = (pool: string, { free, held, cached }: PageCounts): void => {
    pages.set(free, { pool, state: 'free' });
    pages.set(held, { pool, state: 'held' });
    pages.set(cached, { pool, state: 'cached' });
  };
  return {
    publishPages: (cells, store) => {
      publishPool('cells', cells);
      publishPool('store', store);
    },
    prefix: (outcome) => prefixes.add(1, { outcome }),
    suspended: () => suspensions.add(),
    publish: (load) => {
      pending.set(load.pendingLlmRequests);
      queueMs.set(load.avgLlmQueueMs);
      adapters.set(load.activeLoraAdapters.length);
    },
  };
}
