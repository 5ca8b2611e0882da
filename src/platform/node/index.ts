// platform/node: the real adapters of the ports. The only module besides `cli` that imports Node and the drivers.

export { ChildEngineLauncher, type ChildEngineLauncherOptions } from './ChildEngineLauncher.js';
export * from './engine.js';
export { FastifyHttpListener } from './FastifyHttpListener.js';
export { fetchWheel, type WheelRequest } from './fetchWheel.js';
export { Http2Transport, type Http2TransportOptions, type TransportCertificates } from './Http2Transport.js';
export { hashFile } from './hashFile.js';
export { HubClient } from './hub/HubClient.js';
export type { HubLimits } from './hub/HubLimits.js';
export { LmdbMetadataStore } from './LmdbMetadataStore.js';
export { LmdbOrderedStore } from './LmdbOrderedStore.js';
export { type CheckedModelFile, checkModelFile } from './llama/checkModelFile.js';
export { locateLlamaLibraries } from './llama/locateLlamaLibraries.js';
export { type QuantizationType, quantizationTypes } from './llama/quantizationTypes.js';
export { type QuantizeRequest, quantizeModel } from './llama/quantizeModel.js';
export { readModelDescription } from './llama/readModelDescription.js';
export { type KeyedCertificate, mintCertificates } from './mintCertificates.js';
export { NodeMemoryReader } from './NodeMemoryReader.js';
export { OpenAiEngineLauncher } from './OpenAiEngineLauncher.js';
export { describeModelFile } from './training/describeModelFile.js';
