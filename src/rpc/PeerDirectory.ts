import type { ShardId } from '../base/index.js';
import type { PeerAddress } from '../platform/index.js';

export interface Peer {
  readonly address: PeerAddress;
  /** Grows with every start of the shard; a new one closes its breaker. */
  readonly incarnation: number;
}

/** Where the shards are; membership keeps it. */
export interface PeerDirectory {
  find(shardId: ShardId): Peer | undefined;
}
