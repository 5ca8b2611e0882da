// What the engine child needs of shard, by itself.
export { type AssembledEngine, assembleEngine, type EnginePlatform } from './assembleEngine.js';
