import type { EngineFigures, LoadReport, Metrics, ModelAbilities, PageCounts, PrefixOutcome } from '../platform/index.js';

export interface EngineMetrics {
  restarted(): void;
  publish(load: LoadReport, abilities: ModelAbilities): void;
  /** Counts on from what was published last; undefined while there is no engine, whose successor begins at nothing. */
  publishFigures(figures: EngineFigures | undefined): void;
}

const priorities = ['low', 'normal', 'high', 'critical'] as const;
const outcomes: readonly PrefixOutcome[] = ['hit', 'short', 'unknown', 'scope', 'refused'];

/** Declares what the shard shows of its engine: the engine's own figures come from another process with its load reports (R19, R20). */
export function declareEngineMetrics(metrics: Metrics): EngineMetrics {
  const gauge = (name: string, help: string) => metrics.gauge({ name, help });
  const pending = gauge('pending_llm_requests', 'Generation requests queued or running in the engine.');
  const queueMs = gauge('avg_llm_queue_ms', 'Mean time in queue of the last admissions, milliseconds.');
  const adapters = gauge('active_lora_adapters', 'LoRA adapters with running requests.');
  const busy = gauge('llm_sequences_busy', 'Sequences of the context that hold a request.');
  const queued = metrics.gauge({ name: 'llm_queue_requests', help: 'Requests without a sequence, by priority.', labels: ['priority'] });
  const stepMs = gauge('llm_step_ms', 'Mean time of a step of the engine, milliseconds.');
  const sameText = gauge(
    'llm_same_text_under_load',
    '1 when the engine found at its start that this machine gives the same bits alone and in load.',
  );
  const occupancy = gauge('llm_occupancy', 'Share of the sequences that hold a request.');
  const restarts = metrics.counter({ name: 'engine_restarts_total', help: 'Times the engine process was started again.' });
  const publishFigures = declareFigures(metrics);
  return {
    restarted: () => restarts.add(),
    publish: (load, { sameTextUnderLoad }) => {
      sameText.set(sameTextUnderLoad ? 1 : 0);
      pending.set(load.pendingLlmRequests);
      queueMs.set(load.avgLlmQueueMs);
      adapters.set(load.activeLoraAdapters.length);
      busy.set(load.sequencesBusy);
      for (const priority of priorities) queued.set(load.queuedByPriority[priority], { priority });
      stepMs.set(load.stepMs);
      occupancy.set(load.sequencesTotal === 0 ? 0 : load.sequencesBusy / load.sequencesTotal);
    },
    publishFigures,
  };
}

function declareFigures(metrics: Metrics): EngineMetrics['publishFigures'] {
  const pages = metrics.gauge({ name: 'kv_pages', help: 'Pages of 16 tokens, by pool and state.', labels: ['pool', 'state'] });
  const lookups = metrics.counter({
    name: 'kv_prefix_lookups_total',
    help: 'Prompts that were looked up in the prefix cache, by what was found.',
    labels: ['outcome'],
  });
  const preemptions = metrics.counter({ name: 'llm_preemptions_total', help: 'Requests that gave up their sequence and went on later.' });
  const drafted = metrics.counter({
    name: 'speculation_drafted_tokens_total',
    help: 'Tokens that were drafted and verified, by what drafted them.',
    labels: ['source'],
  });
  const accepted = metrics.counter({
    name: 'speculation_accepted_tokens_total',
    help: 'Drafted tokens that were what the model drew, by what drafted them.',
    labels: ['source'],
  });
  const setPool = (pool: string, { free, held, cached }: PageCounts): void => {
    pages.set(free, { pool, state: 'free' });
    pages.set(held, { pool, state: 'held' });
    pages.set(cached, { pool, state: 'cached' });
  };
  let last: EngineFigures | undefined;
  return (figures) => {
    const before = last;
    last = figures;
    if (figures === undefined) return;
    setPool('cells', figures.cells);
    setPool('store', figures.store);
    const speculated = (name: 'draftedTokens' | 'acceptedTokens'): number => figures.speculation[name] - (before?.speculation[name] ?? 0);
    drafted.add(speculated('draftedTokens'), { source: 'lookup' });
    accepted.add(speculated('acceptedTokens'), { source: 'lookup' });
    preemptions.add(figures.preemptions - (before?.preemptions ?? 0));
    for (const outcome of outcomes) lookups.add(figures.prefixLookups[outcome] - (before?.prefixLookups[outcome] ?? 0), { outcome });
  };
}
