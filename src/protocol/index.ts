// protocol: what crosses between shards, as codecs and schemas. Every one refuses what it does not know.
export { type RpcFrame, rpcFrame } from './rpcFrame.js';
