// shard: where parts meet. assembleShard builds a shard, assembleEngine the engine of its child; nothing here decides anything.
export { type AssembledEngine, assembleEngine, type EnginePlatform } from './assembleEngine.js';
export { assembleShard, type ShardPlatform } from './assembleShard.js';
export { Shard, type ShardAddress } from './Shard.js';
export { type ShardConfig, type ShardConfigInput, shardConfig } from './ShardConfig.js';
