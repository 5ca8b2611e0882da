// platform/node: the real adapters of the ports. The only module besides `cli` that imports Node and the drivers.
export { DiskFileStore } from './DiskFileStore.js';
export { Http2Transport, type Http2TransportOptions, type TransportCertificates } from './Http2Transport.js';
export { LmdbMetadataStore } from './LmdbMetadataStore.js';
export { LmdbOrderedStore } from './LmdbOrderedStore.js';
export { type KeyedCertificate, mintCertificates } from './mintCertificates.js';
export { NodeClock } from './NodeClock.js';
export { NodeRandom } from './NodeRandom.js';
export { PinoLogger } from './PinoLogger.js';
export { PrometheusMetrics } from './PrometheusMetrics.js';
