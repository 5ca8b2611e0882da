// inference: continuous batching, sampling, chat templates and embeddings on one model (R18–R23). Pure but for the loop of InferenceEngine,
// which reaches the model through the ports StepBackend and EmbeddingBackend. Knows nothing of processes, shards or the network.
export { ChatTemplate, type TemplateBackend } from './ChatTemplate.js';
export { inferenceError, inferenceErrors } from './errors.js';
export { InferenceEngine, type InferenceEngineParts } from './InferenceEngine.js';
export { type InferenceOptions, inferenceOptions } from './options.js';
export { type BatchPlan, planStep, type SchedulerState, type SequenceState } from './schedule/planStep.js';
