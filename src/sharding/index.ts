// sharding: the ring of 4096 slots, who owns them, and the catalog of databases and collections (R4, R5).
export { assignSlots } from './assignSlots.js';
export { Catalog, type CollectionInfo, type DatabaseInfo } from './Catalog.js';
export { ConsistentHashRing, type RingJson } from './ConsistentHashRing.js';
export { shardingError, shardingErrors } from './errors.js';
export { ShardingManager } from './ShardingManager.js';
export { slotCount, slotOf } from './slotOf.js';
