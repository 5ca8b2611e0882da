// membership: who is in the cluster, what each shard says of itself, who answers (R24, paper §IV-A). Steers requests; never moves data.
export { type AdapterCapabilityAnnouncement, adapterCapabilityAnnouncement } from './AdapterCapabilityAnnouncement.js';
export { FailureDetector, type Health } from './FailureDetector.js';
export { type GossipDigest, type GossipEntry, gossipEntry } from './GossipEntry.js';
export { GossipProtocol, type KnownAnnouncement } from './GossipProtocol.js';
export { GossipState } from './GossipState.js';
export { gossipMethods } from './gossipMethods.js';
export { type MembershipOptions, membershipOptions } from './options.js';
export { PrefixDirectory, type PrefixHolder } from './PrefixDirectory.js';
export { ShardRegistration } from './ShardRegistration.js';
export type { TopologyMember, TopologyView } from './TopologyView.js';
