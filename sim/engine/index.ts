// sim/engine: models without weights and an engine without a process, for simulation and unit tests. The scheduler, the sampler and the
// service on top of them are the product's own.
export { openToyEngine, type ToyEngine, type ToyEngineOptions, toyEngineConfig } from './openToyEngine.js';
export { QuickClock } from './QuickClock.js';
export { SimEngineLauncher, type SimEngineOptions } from './SimEngineLauncher.js';
export { type SimStepCost, SimStepPacer, simStepCost } from './SimStepPacer.js';
export { ToyEmbeddingBackend } from './ToyEmbeddingBackend.js';
export { type ScriptedAnswer, ToyStepBackend, type ToyStepOptions } from './ToyStepBackend.js';
export { toyDescription } from './toyDescription.js';
