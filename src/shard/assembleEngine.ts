import { InferenceEngine, inferenceOptions } from '../inference/index.js';
import type { Clock, EmbeddingBackend, EngineConfig, Logger, ModelService, Random, StepBackend, StepPacer } from '../platform/index.js';
import { absentBackends } from './absentBackends.js';

export interface EnginePlatform {
  /** Undefined: an engine of an embedding model alone. */
  readonly stepBackend: StepBackend | undefined;
  /** Undefined: an engine of a chat model alone. */
  readonly embeddingBackend: EmbeddingBackend | undefined;
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
  const options = inferenceOptions.parse(config.inference ?? {});
  const { stepBackend = absentBackends.step, embeddingBackend = absentBackends.embedding } = platform;
  // Nothing is computed of a model that is not there, and so there is nothing to try.
  const selfCheck = options.selfCheck && platform.stepBackend !== undefined;
  return new InferenceEngine({ ...platform, stepBackend, embeddingBackend, config, options: { ...options, selfCheck } });
}
