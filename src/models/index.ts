// models: what a shard serves and the life of the engine that serves it. EnginePool is the shard's ModelService.

export { type BertFiles, convertBertToGguf } from './convertBertToGguf.js';
export { describeProgress } from './describeProgress.js';
export { divideMachineMemory } from './divideMachineMemory.js';
export { EnginePool, type EnginePoolParts, type PoolChange } from './EnginePool.js';
export { type EngineChange, EngineSupervisor, type EngineSupervisorParts } from './EngineSupervisor.js';
export { encodeGguf, type GgufTensorData } from './encodeGguf.js';
export { estimateConfigMemory } from './estimateConfigMemory.js';
export { type EngineMemory, estimateEngineMemory, type ModelFigures } from './estimateEngineMemory.js';
export { gguf } from './gguf.js';
export type { HubModel } from './HubModel.js';
export { type HubCache, type HubFetch, HubPuller } from './HubPuller.js';
export { isHubName } from './isHubName.js';
export type { ImportedModel, KnownModel, ModelKind } from './KnownModel.js';
export type { MachineShare } from './MachineShare.js';
export { MemoryCheckedLauncher } from './MemoryCheckedLauncher.js';
export type { ModelProgress } from './ModelProgress.js';
export {
  type InstalledModel,
  type ModelCache,
  ModelRegistry,
  type ModelVerdict,
} from './ModelRegistry.js';
export type { ModelWork } from './ModelWork.js';
export { type EngineOptions, engineOptions } from './options.js';
export type { PinnedModel, PinnedPackage } from './PinnedModel.js';
export { pinnedModels } from './pinnedModels.js';
export { planMachineMemory } from './planMachineMemory.js';
export { readSafetensors, type Safetensors, type Tensor } from './readSafetensors.js';
export type { ServedModel } from './ServedModel.js';
export { textTokensOf } from './textTokensOf.js';
export { toHalf } from './toHalf.js';
