// platform: the ports through which core meets time, chance, disk, network, metadata and models. No defaults, so that none can be
// forgotten; each has one conformance suite (./conformance) that the real adapter and its simulated twin both pass.
export type { AdapterFigures, AdapterFile, AdapterFiles, SavedAdapter } from './AdapterFiles.js';
export type { AdapterIdentity } from './AdapterIdentity.js';
export { adapterKey } from './adapterKey.js';
export { ChecksummedStore } from './ChecksummedStore.js';
export type { Clock, Timer } from './Clock.js';
export { describeShortage } from './describeShortage.js';
export type { EngineConfig, EngineExit, EngineLauncher, EngineProgress, ExpectedMemory, LaunchedEngine } from './EngineLauncher.js';
export { platformError, platformErrors } from './errors.js';
export type { HttpHandler, HttpLimits, HttpListener, HttpRefusal, HttpRequest, HttpResponse } from './HttpListener.js';
export { idleLoad } from './idleLoad.js';
export type { LogFields, Logger } from './Logger.js';
export { linearWidths } from './linearWidths.js';
export { longestTextDefault } from './longestTextDefault.js';
export type { FreeMemory, MemoryReader } from './MemoryReader.js';
export type { MetadataChange, MetadataCondition, MetadataEntry, MetadataOperation, MetadataStore } from './MetadataStore.js';
export type { Counter, Gauge, Histogram, MetricDeclaration, MetricLabels, Metrics } from './Metrics.js';
export type { ModelDescription } from './ModelDescription.js';
export type { HubDownload, HubFile, HubOffer, ModelHub } from './ModelHub.js';
export {
  type AnswerLogprob,
  type ChatMessage,
  type Constraint,
  type EmbedRequest,
  type EmbedResult,
  type EngineFigures,
  type GenerateEvent,
  type GenerateRequest,
  type GenerateTiming,
  type LoadedAdapter,
  type LoadReport,
  type ModelAbilities,
  type ModelFacts,
  type ModelService,
  noEngineFigures,
  type PageCounts,
  type PrefixExchange,
  type PrefixOutcome,
  plainSampling,
  type RerankMethod,
  type RerankRequest,
  type RerankResult,
  type SamplingOptions,
  type TokenLogprob,
  type TokenUsage,
  type ToolCall,
  type ToolDefinition,
  type ToolUse,
} from './ModelService.js';
export { noModel } from './noModel.js';
export { noPrefixExchange } from './noPrefixExchange.js';
export type { OrderedStore, ScanRange, StoreEntry, StoreRoom, StoreShortage, StoreWrite } from './OrderedStore.js';
export type { PrefixArrival, PrefixHeader, PrefixLookup, PrefixPart, PrefixPiece } from './PrefixPart.js';
export { prefixStoreBytesDefault } from './prefixStoreBytesDefault.js';
export { prefixUnitTokens } from './prefixUnitTokens.js';
export type { Random } from './Random.js';
export type { BackendFacts, BackendRow, EmbeddingBackend, EmbeddingFacts, StepBackend, TemplateFacts, TextPiece } from './StepBackend.js';
export type { StepPacer } from './StepPacer.js';
export { sleepOn } from './sleepOn.js';
export type { LinearName, ModelShape, TrainableTensor, TrainingBackend, TrainingSequence } from './TrainingBackend.js';
export type { CallHandler, IncomingCall, OutgoingCall, PeerAddress, Transport } from './Transport.js';
export { toolCallForm } from './toolCallForm.js';
export { withinBytes } from './withinBytes.js';
