// models: what a shard serves and the life of the engine that serves it. EngineSupervisor is the shard's ModelService.
export { type EngineChange, EngineSupervisor, type EngineSupervisorParts } from './EngineSupervisor.js';
export { type EngineOptions, engineOptions } from './options.js';
