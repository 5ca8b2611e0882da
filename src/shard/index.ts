// shard: where parts meet. assembleShard builds a shard, assembleEngine the engine of its child; nothing here decides anything.
export { assembleShard, type ShardPlatform } from './assembleShard.js';
export * from './engine.js';
export { Shard, type ShardAddress } from './Shard.js';
export { type ShardConfig, shardConfig } from './ShardConfig.js';
