import type { InferenceOptions } from '../../src/inference/index.js';
import type { EmbeddingBackend, EngineConfig, Logger, Random, StepBackend } from '../../src/platform/index.js';
import { type AssembledEngine, assembleEngine } from '../../src/shard/index.js';
import { QuickClock } from './QuickClock.js';
import { SimStepPacer, simStepCost } from './SimStepPacer.js';
import { ToyEmbeddingBackend } from './ToyEmbeddingBackend.js';
import { type ScriptedAnswer, ToyStepBackend } from './ToyStepBackend.js';

export interface ToyEngineOptions {
  readonly random: Random;
  readonly logger: Logger;
  readonly sequences: number;
  readonly contextTokens: number;
  readonly queueRequestsMax: number;
  readonly script: readonly ScriptedAnswer[];
  /** Options of the scheduler, where a test wants others. */
  readonly inference?: Partial<InferenceOptions>;
  /** Wraps the toy, for tests that watch or break its calls, from the first request on: the engine then does not try the toy at its start. */
  readonly wrap?: (backend: StepBackend) => StepBackend;
  /** Instead of the toy one. */
  readonly embeddingBackend?: EmbeddingBackend;
}

export interface ToyEngine {
  readonly engine: AssembledEngine;
  readonly clock: QuickClock;
  readonly config: EngineConfig;
}

/** The configuration of an engine on toy models: names and digests that nothing checks. */
export function toyEngineConfig(bounds: {
  readonly sequences: number;
  readonly contextTokens: number;
  readonly queueRequestsMax: number;
}): EngineConfig {
  const model = (name: string) => ({ name, path: name, digest: '0'.repeat(64) });
  return { chatModel: model('toy-chat'), embeddingModel: model('toy-embedding'), threads: 1, ...bounds };
}

/** One engine on toy models under virtual time of its own. */
export function openToyEngine(options: ToyEngineOptions): ToyEngine {
  const { sequences, contextTokens, queueRequestsMax, script, random, logger, wrap } = options;
  const clock = new QuickClock();
  const config = {
    ...toyEngineConfig({ sequences, contextTokens, queueRequestsMax }),
    inference: { selfCheck: wrap === undefined, ...options.inference },
  };
  const toy = new ToyStepBackend({ sequences, contextTokens, script });
  const platform = {
    stepBackend: wrap === undefined ? toy : wrap(toy),
    embeddingBackend: options.embeddingBackend ?? new ToyEmbeddingBackend(),
    pacer: new SimStepPacer(clock, simStepCost),
    clock,
    random,
    logger,
  };
  const engine = assembleEngine(config, platform);
  return { engine, clock, config };
}
