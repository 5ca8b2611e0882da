import { InferenceEngine, inferenceOptions } from '../inference/index.js';
import type { Clock, EmbeddingBackend, EngineConfig, Logger, ModelService, Random, StepBackend, StepPacer } from '../platform/index.js';

export interface EnginePlatform {
  readonly stepBackend: StepBackend;
  readonly embeddingBackend: EmbeddingBackend;
  readonly pacer: StepPacer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface AssembledEngine extends ModelService {
  /** Fails what is in flight with `reason` and frees the models. */
  close(reason: Error): Promise<void>;
}

/**
 * Puts an engine together from its models: the one place for the child process, the simulator and tests. The backends belong to the
 * engine from here on. Errors: MODEL_INVALID (a chat template that cannot be parsed).
 */
export function assembleEngine(config: EngineConfig, platform: EnginePlatform): AssembledEngine {
  return new InferenceEngine({ ...platform, config, options: inferenceOptions.parse(config.inference ?? {}) });
}
