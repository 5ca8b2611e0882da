import type { ShardId } from '../base/index.js';
import type { LoadReport, PeerAddress } from '../platform/index.js';
import type { AdapterCapabilityAnnouncement } from './AdapterCapabilityAnnouncement.js';
import type { Health } from './FailureDetector.js';

export interface TopologyMember {
  readonly shardId: ShardId;
  readonly incarnation: number;
  readonly address: PeerAddress;
  readonly httpUrl: string;
  readonly health: Health;
  readonly ready: boolean;
  readonly models: readonly {
    readonly name: string;
    readonly digest: string;
    readonly kind: 'chat' | 'embedding';
    /** False: the first request for it starts its engine. */
    readonly loaded?: false;
  }[];
  /** Not withdrawn and not stale. */
  readonly announcements: readonly AdapterCapabilityAnnouncement[];
  /** Undefined when the last report is too old to go by. */
  readonly load: LoadReport | undefined;
}

/** What this shard knows of the cluster at one moment. Immutable; `epoch` grows with every change seen here and is this shard's own count. */
export interface TopologyView {
  readonly epoch: number;
  readonly selfShardId: ShardId;
  /** By shard id, this shard included. */
  readonly members: readonly TopologyMember[];
}
