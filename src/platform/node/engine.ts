// What the engine child needs of platform/node, by itself: the child starts in half the time without the drivers of store and network.
export { LlamaEmbeddingBackend, type LlamaEmbeddingOptions } from './llama/LlamaEmbeddingBackend.js';
export { LlamaStepBackend, type LlamaStepOptions } from './llama/LlamaStepBackend.js';
export { LlamaVocabulary } from './llama/LlamaVocabulary.js';
export { readBaseFingerprint } from './llama/readBaseFingerprint.js';
export { NodeClock } from './NodeClock.js';
export { NodeRandom } from './NodeRandom.js';
export { NodeStepPacer } from './NodeStepPacer.js';
export { PinoLogger } from './PinoLogger.js';
export { PrometheusMetrics } from './PrometheusMetrics.js';
export { serveEngine } from './serveEngine.js';
export { GgmlTrainingBackend, type GgmlTrainingOptions } from './training/GgmlTrainingBackend.js';
export { writeFileAtomic } from './writeFileAtomic.js';
