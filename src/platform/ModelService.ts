import type { JsonValue } from '../base/index.js';
import type { AdapterIdentity } from './AdapterIdentity.js';
import type { PrefixArrival, PrefixLookup, PrefixPart, PrefixPiece } from './PrefixPart.js';

/**
 * What an answer must be, whole. An answer that ends by itself satisfies it; one that `tokensMax` or a stop string cuts may be a beginning
 * of such a text. What each kind covers: docs/reference/constraints.md.
 */
export type Constraint =
  /** A JSON object or array. */
  | { readonly kind: 'json' }
  | { readonly kind: 'jsonSchema'; readonly schema: JsonValue }
  /** Matched from the beginning to the end. */
  | { readonly kind: 'regex'; readonly pattern: string }
  | { readonly kind: 'choice'; readonly texts: readonly string[] }
  | { readonly kind: 'gbnf'; readonly grammar: string };

/** Sampling of one request, every field resolved (the border fills in defaults and checks ranges). */
export interface SamplingOptions {
  readonly tokensMax: number;
  /** 0 = greedy. */
  readonly temperature: number;
  readonly topP: number;
  /** 0 = off. */
  readonly topK: number;
  /** Tokens less likely than this share of the likeliest are dropped; 0 = off. */
  readonly minP: number;
  /** Tokens are kept by how near their surprise is to the expected one until they weigh this much; 1 = off. */
  readonly typicalP: number;
  /** Divides the logits of tokens in the answer; 1 = off. */
  readonly repetitionPenalty: number;
  /** Subtracted once from the logit of a token that is in the answer; 0 = off. */
  readonly presencePenalty: number;
  /** Subtracted for each time a token is in the answer; 0 = off. */
  readonly frequencyPenalty: number;
  /** Added to the logits of single tokens. */
  readonly logitBias: readonly LogitBias[];
  /** Same seed = same tokens, alone or under load (R22). Without one the request draws from the shard's randomness. */
  readonly seed?: number;
  /** Generation ends before the first of these; none of its characters is emitted. */
  readonly stop: readonly string[];
  /** Generation ends at one of these tokens, which is not part of the answer, as at the model's own end tokens. */
  readonly stopTokens: readonly number[];
  /** Neither end tokens nor stop tokens are drawn before the answer has so many; 0 = off. */
  readonly tokensMin: number;
  /** The model's end tokens are never drawn: the answer runs to `tokensMax` or a stop. */
  readonly ignoreEnd: boolean;
  /** Tells the likeliest alternatives of each token of the answer: so many beside the token itself. Absent = no probabilities at all. */
  readonly logprobsTop?: number;
  readonly constraint?: Constraint;
}

export interface LogitBias {
  readonly token: number;
  readonly bias: number;
}

/** A token with the natural logarithm of its probability in the model's own distribution, before penalties, bias and temperature. */
export interface TokenLogprob {
  readonly token: number;
  /** UTF-8; may be a part of a character. */
  readonly bytes: readonly number[];
  readonly logprob: number;
}

export interface AnswerLogprob extends TokenLogprob {
  /** Likeliest first. */
  readonly top: readonly TokenLogprob[];
}

/** Greedy, with everything else off. */
export const plainSampling: Omit<SamplingOptions, 'tokensMax'> = {
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  typicalP: 1,
  repetitionPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  logitBias: [],
  stop: [],
  stopTokens: [],
  tokensMin: 0,
  ignoreEnd: false,
};

/** A tool that a model called. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as it was written; what a client sends back of it may be anything. */
  readonly arguments: string;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** Of an assistant. */
  readonly toolCalls?: readonly ToolCall[];
  /** Of a tool: the call that it answers. */
  readonly toolCallId?: string;
}

export interface ToolDefinition {
  /** Of letters, digits, `_` and `-`. */
  readonly name: string;
  readonly description?: string;
  /** JSON schema of an object. */
  readonly parameters: JsonValue;
  /** A keyword of the schema that is not enforced is refused; otherwise the rest of the schema is what arguments satisfy. */
  readonly strict: boolean;
}

/** The tools that a model is told of, and which of them it may or must call. */
export interface ToolUse {
  readonly tools: readonly ToolDefinition[];
  /** Names; empty: no call at all. */
  readonly callable: readonly string[];
  /** The answer is calls and nothing else. */
  readonly isRequired: boolean;
  readonly callsMax: number;
}

export interface GenerateRequest {
  readonly requestId: string;
  /** Name or `default`. */
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** Continued as it stands, without the chat template; `messages` is then empty. */
  readonly prompt?: string;
  /** Calls stand in the text of the answer, in the form of `toolCallForm`. */
  readonly tools?: ToolUse;
  /** A loaded adapter; absent = the base model. */
  readonly adapter?: AdapterIdentity;
  readonly sampling: SamplingOptions;
  readonly priority: 'low' | 'normal' | 'high' | 'critical';
  /** Whose request it is: owners share an engine fairly (R19). Absent = nobody's in particular. */
  readonly owner?: string;
  /** Somebody reads the tokens as they come (absent = true): other answers may wait longer for the prompts of others. */
  readonly streamed?: boolean;
  /** Milliseconds that are left for the answer: a request that cannot be done by then is refused at once, DEADLINE_UNREACHABLE. */
  readonly deadlineMs?: number;
}

export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

export interface GenerateTiming {
  readonly queueMs: number;
  /** From submission to the first token. */
  readonly firstTokenMs: number;
  readonly totalMs: number;
}

/** `admitted` first, then any number of `progress` and `text`, then exactly one `finished`; or an error at any point. */
export type GenerateEvent =
  | { readonly kind: 'admitted'; readonly promptTokens: number }
  | { readonly kind: 'progress' }
  | { readonly kind: 'text'; readonly text: string; readonly tokens: number; readonly logprobs?: readonly AnswerLogprob[] }
  | {
      readonly kind: 'finished';
      readonly finishReason: 'stop' | 'length';
      /** The stop string that ended the answer, if one did. */
      readonly stopText?: string;
      readonly usage: TokenUsage;
      readonly timing: GenerateTiming;
    };

export interface EmbedRequest {
  readonly requestId: string;
  readonly model: string;
  readonly texts: readonly string[];
  /** Texts as ids of the embedding model's own tokens, begin and end tokens among them; `texts` is then empty. */
  readonly tokens?: readonly (readonly number[])[];
  /** So many numbers of each vector, from its beginning. Absent = all; another number only where the model was trained to be cut. */
  readonly dimensions?: number;
  /** A text that is too long is cut instead of refused; the result says by how much. */
  readonly truncate?: boolean;
  /** False = vectors as the model gives them. Absent = of unit length. */
  readonly normalize?: boolean;
  /** It gives way to chats and to other texts: nobody waits for each of its answers. */
  readonly isPatient?: boolean;
}

export interface EmbedResult {
  /** In the order of the texts, each of unit length unless told otherwise. */
  readonly vectors: readonly (readonly number[])[];
  /** Tokens that the model read. */
  readonly promptTokens: number;
  /** Tokens of each text that the model did not read; absent when it read all. */
  readonly tokensLeftOut?: readonly number[];
}

/** How documents are scored: each with the query by a model made for it, or all alone by the distance of their vectors to the query's. */
export type RerankMethod = 'crossEncoder' | 'embedding';

export interface RerankRequest {
  readonly requestId: string;
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  readonly method: RerankMethod;
  /** A document that is too long beside the query is cut instead of refused; the result says by how much. */
  readonly truncate?: boolean;
}

export interface RerankResult {
  /** In the order of the documents, more = better: 0 to 1 from a cross-encoder, the cosine from vectors. */
  readonly scores: readonly number[];
  readonly promptTokens: number;
  /** Tokens of each document that the model did not read; absent when it read all. */
  readonly tokensLeftOut?: readonly number[];
}

export interface ModelFacts {
  readonly name: string;
  /** SHA-256 of the model file. */
  readonly digest: string;
  readonly kind: 'chat' | 'embedding';
  readonly contextTokensMax: number;
  /** Embedding models: length of a vector. */
  readonly dimensions?: number;
  /** Of kind `embedding`: a cross-encoder, which scores pairs of texts and gives no vectors. */
  readonly crossEncoder?: true;
  /** Its engine is started by the first request. Absent: it answers at once. */
  readonly loaded?: false;
}

export interface LoadedAdapter extends AdapterIdentity {
  readonly modelDigest: string;
}

/** Published every cycle (R19), at most 10 a second. */
export interface LoadReport {
  /** Requests queued or running. */
  readonly pendingLlmRequests: number;
  /** Mean time in queue of the last admissions; as a shard reports it, weighted by time and fading while nobody waits. */
  readonly avgLlmQueueMs: number;
  /** Adapters with running requests, each as `digest@scale` (`adapterKey`). */
  readonly activeLoraAdapters: readonly string[];
  readonly sequencesTotal: number;
  readonly sequencesBusy: number;
  /** Requests without a sequence. */
  readonly queuedByPriority: { readonly [priority in GenerateRequest['priority']]: number };
  /** Mean time of a step, ms, roughly. */
  readonly stepMs: number;
  /** Prefixes that other shards may ask for (R27): the low 32 bits of their digests, four bytes each in base64, newest use first. */
  readonly prefixes: string;
}

/** Pages of 16 tokens of one pool (R20): free + cached + held = total. */
export interface PageCounts {
  readonly total: number;
  readonly held: number;
  readonly cached: number;
  readonly free: number;
}

/** What a prompt found in the prefix cache: `short` = too short to share, `scope` = known under another adapter only, `refused` = not taken by the model. */
export type PrefixOutcome = 'hit' | 'short' | 'unknown' | 'scope' | 'refused';

/** Figures of an engine for metrics, counted since it started. */
export interface EngineFigures {
  /** The model's own cells. */
  readonly cells: PageCounts;
  /** Host buffers of prefixes and suspended requests. */
  readonly store: PageCounts;
  readonly prefixLookups: { readonly [outcome in PrefixOutcome]: number };
  /** Requests that gave up their sequence and went on later. */
  readonly preemptions: number;
  /** Tokens that were drafted and verified in one step with the one before, and those of them that were what the model drew (R26). */
  readonly speculation: { readonly draftedTokens: number; readonly acceptedTokens: number };
}

const noPages: PageCounts = { total: 0, held: 0, cached: 0, free: 0 };

/** Of no engine. */
export const noEngineFigures: EngineFigures = {
  cells: noPages,
  store: noPages,
  prefixLookups: { hit: 0, short: 0, unknown: 0, scope: 0, refused: 0 },
  preemptions: 0,
  speculation: { draftedTokens: 0, acceptedTokens: 0 },
};

/** What an implementation keeps of the promises of R20–R27. */
export interface ModelAbilities {
  readonly sameTextUnderLoad: boolean;
  /** Prefixes can be read and written (R27). */
  readonly prefixes: boolean;
  readonly adapters: boolean;
}

/**
 * Rows of prompts between engines (R27, paper §IV-D), a part of ModelService. Only rows of ended prompts leave, by host buffers, never
 * those of answers. An arrival is checked against everything in the header before it is kept; what the model then does not take is
 * computed cold.
 */
export interface PrefixExchange {
  /** Undefined where the engine shares no prefixes. Errors: those of `generate` that refuse a prompt. */
  prefixOf(request: GenerateRequest, signal: AbortSignal): Promise<PrefixLookup | undefined>;
  /** Up to `bytesMax` bytes of a prefix from `offset` on. Errors: KV_PREFIX_UNKNOWN (not held, or no more). */
  readPrefix(asked: PrefixPiece, signal: AbortSignal): Promise<PrefixPart>;
  /**
   * Takes a piece; one with no bytes asks how much of the prefix has arrived before, which is where to go on. Pieces come in order.
   * Errors: KV_PREFIX_MISMATCH (data: field), KV_PREFIX_DAMAGED, KV_PREFIX_NO_ROOM.
   */
  writePrefix(part: PrefixPart, signal: AbortSignal): Promise<PrefixArrival>;
}

/**
 * Request-level inference of one shard (R18): the engine child over IPC, a server the user runs, or the engine in-process under
 * simulation. Aborting a signal frees the request's slot within one step.
 * Errors: MODEL_UNKNOWN, ADAPTER_UNKNOWN, CONTEXT_LENGTH_EXCEEDED (data: promptTokens, contextTokensMax), ENGINE_LOST (retryable),
 * ENGINE_LOADING, MODEL_LOADING, MODEL_MEMORY_BUSY (retryable), MODEL_TOO_LARGE, QUEUE_FULL (retryable), DEADLINE_UNREACHABLE (retryable; data: estimateMs, queueMs, deadlineMs), ADAPTER_INVALID, TOKEN_UNKNOWN, CONSTRAINT_INVALID, CONSTRAINT_NOT_SUPPORTED,
 * CONSTRAINT_TOO_LARGE, MODEL_KIND_WRONG, DIMENSIONS_NOT_SUPPORTED.
 */
export interface ModelService {
  readonly abilities: ModelAbilities;
  models(): readonly ModelFacts[];
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<GenerateEvent>;
  embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult>;
  rerank(request: RerankRequest, signal: AbortSignal): Promise<RerankResult>;
  /** Token ids of a text as user text (no control tokens). */
  tokenize(model: string, text: string, signal: AbortSignal): Promise<readonly number[]>;
  /** The text of tokens of the chat model; bytes that are no UTF-8 become U+FFFD, control tokens are left out. */
  detokenize(model: string, tokens: readonly number[], signal: AbortSignal): Promise<string>;
  /**
   * Loads an adapter file for the chat model. The same digest and scale twice is one adapter; the same digest with another scale is
   * another, which shares the file's memory. With `digest`, a file of another content is refused.
   */
  loadAdapter(
    adapter: { readonly path: string; readonly scale: number; readonly digest?: string },
    signal: AbortSignal,
  ): Promise<LoadedAdapter>;
  /** No new request gets the adapter; resolves when the last running one with it has ended. Other scales of its file stay. */
  unloadAdapter(adapter: AdapterIdentity, signal: AbortSignal): Promise<void>;
  adapters(): readonly LoadedAdapter[];
  /** Rows of prompts from and for other shards; of the shard's own chat model alone. */
  readonly prefixes: PrefixExchange;
  load(): LoadReport;
  figures(): EngineFigures;
}
