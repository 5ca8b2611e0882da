import type { OstrakaErrorJson } from '../../base/index.js';
import type {
  AdapterIdentity,
  EmbedRequest,
  EmbedResult,
  EngineConfig,
  EngineFigures,
  EngineProgress,
  GenerateEvent,
  GenerateRequest,
  LoadedAdapter,
  LoadReport,
  ModelAbilities,
  ModelFacts,
  PrefixArrival,
  PrefixLookup,
  PrefixPart,
  PrefixPiece,
  RerankRequest,
  RerankResult,
} from '../index.js';

// The messages between a shard and its engine child. Both ends are of one build and one machine, so they carry no version; they cross
// the pipe as structured clones. `call` numbers a call of this channel.

/** What is asked of the engine. */
export type EngineCall =
  | { readonly kind: 'generate'; readonly request: GenerateRequest }
  | { readonly kind: 'embed'; readonly request: EmbedRequest }
  | { readonly kind: 'rerank'; readonly request: RerankRequest }
  | { readonly kind: 'tokenize'; readonly model: string; readonly text: string }
  | { readonly kind: 'detokenize'; readonly model: string; readonly tokens: readonly number[] }
  | { readonly kind: 'loadAdapter'; readonly adapter: { readonly path: string; readonly scale: number; readonly digest?: string } }
  | { readonly kind: 'unloadAdapter'; readonly adapter: AdapterIdentity }
  | { readonly kind: 'prefixOf'; readonly request: GenerateRequest }
  | { readonly kind: 'readPrefix'; readonly asked: PrefixPiece }
  | { readonly kind: 'writePrefix'; readonly part: PrefixPart };

/** Shard to engine. `start` comes first and once; `ping` is answered by `pong` as soon as the engine's loop turns. */
export type EngineCommand =
  | { readonly kind: 'start'; readonly config: EngineConfig }
  | { readonly kind: 'call'; readonly call: number; readonly body: EngineCall }
  | { readonly kind: 'abort'; readonly call: number }
  | { readonly kind: 'ping' };

export type EngineValue =
  | EmbedResult
  | RerankResult
  | LoadedAdapter
  | PrefixLookup
  | PrefixPart
  | PrefixArrival
  | readonly number[]
  | string
  | null;

/** A part of the answer to a call: events of a generation, one value of any other call, or how it ended. */
export type EngineItem =
  | { readonly kind: 'event'; readonly call: number; readonly event: GenerateEvent }
  | { readonly kind: 'value'; readonly call: number; readonly value: EngineValue }
  | { readonly kind: 'end'; readonly call: number }
  | { readonly kind: 'error'; readonly call: number; readonly error: OstrakaErrorJson };

export interface EngineFacts {
  readonly models: readonly ModelFacts[];
  readonly abilities: ModelAbilities;
}

/** Engine to shard. Any number of `progress`, then `ready` or `failed`; then at most one `batch` a step. */
export type EngineMessage =
  | { readonly kind: 'progress'; readonly progress: EngineProgress }
  | { readonly kind: 'ready'; readonly facts: EngineFacts; readonly load: LoadReport; readonly figures: EngineFigures }
  | { readonly kind: 'failed'; readonly error: OstrakaErrorJson }
  | { readonly kind: 'batch'; readonly items: readonly EngineItem[] }
  | { readonly kind: 'load'; readonly load: LoadReport; readonly figures: EngineFigures }
  | { readonly kind: 'pong' };
