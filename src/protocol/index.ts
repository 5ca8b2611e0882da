// protocol: what crosses between shards, as codecs and schemas. Every one refuses what it does not know.
export { type PrefixEnvelopeHeader, type PrefixEnvelopePiece, prefixEnvelope } from './prefixEnvelope.js';
export { prefixMarks } from './prefixMarks.js';
export { type RpcFrame, rpcFrame } from './rpcFrame.js';
