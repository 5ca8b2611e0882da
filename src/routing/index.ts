// routing: decides which shard answers a request. Pure over the topology, the ring, breakers and reservations (R24, paper §IV-A).
export { AdaptiveShardRouter, type RouteRequest, type RouteState } from './AdaptiveShardRouter.js';
export { fitsAdapter } from './fitsAdapter.js';
export { type RoutingOptions, routingOptions } from './options.js';
export { Reservations } from './Reservations.js';
export type { RouteCandidate, RouteDecision, RoutePlan } from './RoutePlan.js';
export type { WantedAdapter } from './WantedAdapter.js';
