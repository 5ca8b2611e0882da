// shard: where parts meet. assembleEngine builds the engine of a shard; nothing here decides anything.
export { type AssembledEngine, assembleEngine, type EnginePlatform } from './assembleEngine.js';
