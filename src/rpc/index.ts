// rpc: calls between shards over a Transport: deadlines, retries, one circuit breaker a peer, typed errors (R33, paper §III, §V).
export { type BreakerState, CircuitBreaker } from './CircuitBreaker.js';
export { deadlineSignal } from './deadlineSignal.js';
export { rpcError, rpcErrors } from './errors.js';
export { declareRpcMetrics, type RpcMetrics } from './metrics.js';
export { type RpcOptions, rpcOptions } from './options.js';
export type { Peer, PeerDirectory } from './PeerDirectory.js';
export { type RemoteCall, RemoteExecutor } from './RemoteExecutor.js';
export { type RpcMethod, type RpcRequest, RpcServer } from './RpcServer.js';
export type { TimestampExchange } from './TimestampExchange.js';
