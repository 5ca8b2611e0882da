import { OstrakaError, toAbortError } from '../../base/index.js';
import {
  type AdapterIdentity,
  type Clock,
  type EmbedRequest,
  type EmbedResult,
  type EngineFigures,
  type GenerateEvent,
  type GenerateRequest,
  idleLoad,
  type LoadedAdapter,
  type LoadReport,
  type ModelFacts,
  type ModelService,
  noEngineFigures,
  noPrefixExchange,
  platformError,
  type RerankResult,
  type TokenUsage,
} from '../index.js';
import type { OpenAiClient } from './OpenAiClient.js';
import { readServerEvents } from './readServerEvents.js';
import { toOpenAiBody } from './toOpenAiBody.js';

export interface OpenAiModels {
  readonly chat: ModelFacts;
  /** Undefined: the server embeds nothing. */
  readonly embedding: ModelFacts | undefined;
}

/** A chunk of a stream, of chat or of a completion. */
interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null };
    readonly text?: string;
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly completion_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  } | null;
  readonly error?: { readonly message?: string };
}

/**
 * A ModelService over an OpenAI-compatible server that the user runs (R18): streaming, embeddings, tokens where the server counts them.
 * It has no adapters of the cluster and promises no same text under load. What the server cannot do fails with ENGINE_ABILITY_MISSING.
 */
export class OpenAiModelService implements ModelService {
  readonly abilities = { sameTextUnderLoad: false, adapters: false, prefixes: false };
  readonly prefixes = noPrefixExchange;
  readonly #client: OpenAiClient;
  readonly #models: OpenAiModels;
  readonly #clock: Clock;
  readonly #sequences: number;
  #running = 0;

  constructor(parts: { readonly client: OpenAiClient; readonly models: OpenAiModels; readonly clock: Clock; readonly sequences: number }) {
    this.#client = parts.client;
    this.#models = parts.models;
    this.#clock = parts.clock;
    this.#sequences = parts.sequences;
  }

  models(): readonly ModelFacts[] {
    const { chat, embedding } = this.#models;
    return embedding === undefined ? [chat] : [chat, embedding];
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    if (signal.aborted) throw toAbortError(signal);
    const { path, body } = toOpenAiBody(request, this.#chatModel(request.model));
    const deadline = this.#withDeadline(request, signal);
    this.#running++;
    try {
      const startedMs = this.#clock.monotonicMs();
      const response = await this.#client.open(path, body, deadline.signal);
      yield* this.#answer(response, { startedMs, signal: deadline.signal });
    } finally {
      this.#running--;
      deadline.end();
    }
  }

  async embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult> {
    if (signal.aborted) throw toAbortError(signal);
    const { embedding } = this.#models;
    if (embedding === undefined || !['default', embedding.name].includes(request.model))
      throw platformError('MODEL_UNKNOWN', `the model server has no embedding model ${request.model}`);
    if (request.tokens !== undefined || request.truncate === true || request.normalize === false)
      throw platformError('ENGINE_ABILITY_MISSING', 'a model server behind a shard embeds whole texts, to vectors of unit length');
    const { dimensions } = request;
    const body = { model: embedding.name, input: request.texts, encoding_format: 'float', ...(dimensions !== undefined && { dimensions }) };
    return toEmbedResult(await this.#client.json('/v1/embeddings', body, signal), request.texts.length);
  }

  async tokenize(model: string, text: string, signal: AbortSignal): Promise<readonly number[]> {
    // vLLM calls the text `prompt`, llama-server `content`.
    const body = { model: this.#chatModel(model), prompt: text, content: text, add_special_tokens: false, add_special: false };
    const { tokens } = (await this.#client.json('/tokenize', body, signal)) as { readonly tokens?: readonly number[] };
    if (!Array.isArray(tokens)) throw platformError('ENGINE_ABILITY_MISSING', 'the model server tells no tokens');
    return tokens;
  }

  async detokenize(model: string, tokens: readonly number[], signal: AbortSignal): Promise<string> {
    const answer = await this.#client.json('/detokenize', { model: this.#chatModel(model), tokens }, signal);
    const { prompt, content } = answer as { readonly prompt?: string; readonly content?: string };
    const text = prompt ?? content;
    if (text === undefined) throw platformError('ENGINE_ABILITY_MISSING', 'the model server tells no text of tokens');
    return text;
  }

  async rerank(): Promise<RerankResult> {
    throw platformError('ENGINE_ABILITY_MISSING', 'a model server behind a shard reranks nothing');
  }

  async loadAdapter(): Promise<LoadedAdapter> {
    throw platformError('ENGINE_ABILITY_MISSING', 'a model server behind a shard takes no adapters of the cluster');
  }

  async unloadAdapter({ digest }: AdapterIdentity): Promise<void> {
    throw platformError('ADAPTER_UNKNOWN', `no adapter ${digest} is loaded`, { data: { digest } });
  }

  adapters(): readonly LoadedAdapter[] {
    return [];
  }

  load(): LoadReport {
    const sequencesBusy = Math.min(this.#running, this.#sequences);
    return { ...idleLoad(this.#sequences), pendingLlmRequests: this.#running, sequencesBusy };
  }

  figures(): EngineFigures {
    return noEngineFigures;
  }

  async *#answer(
    response: Response,
    { startedMs, signal }: { readonly startedMs: number; readonly signal: AbortSignal },
  ): AsyncGenerator<GenerateEvent, void, void> {
    const answer = new Answer();
    yield { kind: 'admitted', promptTokens: 0 }; // the server counts them at the end
    try {
      for await (const event of readServerEvents(response.body as unknown as AsyncIterable<Uint8Array>)) {
        if (signal.aborted) throw toAbortError(signal); // what came before the abort is left
        if (event.kind === 'comment') yield { kind: 'progress' };
        else if (event.data === '[DONE]') break;
        else yield* answer.take(JSON.parse(event.data) as Chunk, this.#clock.monotonicMs() - startedMs);
      }
    } catch (error) {
      throw error instanceof OstrakaError ? error : this.#client.toError(error, signal);
    }
    yield answer.finish(this.#clock.monotonicMs() - startedMs);
  }

  #chatModel(name: string): string {
    const { chat } = this.#models;
    if (name === 'default' || name === chat.name) return chat.name;
    throw platformError('MODEL_UNKNOWN', `the model server behind this shard serves ${chat.name}, not ${name}`);
  }

  /** The deadline of the request ends it, too. */
  #withDeadline({ deadlineMs }: GenerateRequest, signal: AbortSignal): { readonly signal: AbortSignal; readonly end: () => void } {
    if (deadlineMs === undefined) return { signal, end: () => undefined };
    const late = platformError('DEADLINE_UNREACHABLE', `the model server did not answer within ${deadlineMs} ms`, { data: { deadlineMs } });
    if (deadlineMs <= 0) throw late;
    const patience = new AbortController();
    const timer = this.#clock.setTimer(deadlineMs, () => patience.abort(late));
    return { signal: AbortSignal.any([signal, patience.signal]), end: () => timer.cancel() };
  }
}

/** What is known of an answer while it comes. */
class Answer {
  #usage: TokenUsage | undefined;
  #pieces = 0;
  #firstMs: number | undefined;
  #finishReason: 'stop' | 'length' | undefined;

  *take(chunk: Chunk, elapsedMs: number): Generator<GenerateEvent, void, void> {
    if (chunk.error !== undefined)
      throw platformError('ENGINE_STEP_FAILED', `the model server failed: ${chunk.error.message ?? 'no reason'}`);
    const [choice] = chunk.choices ?? [];
    const text = choice?.delta?.content ?? choice?.text ?? '';
    if (typeof choice?.finish_reason === 'string') this.#finishReason = choice.finish_reason === 'length' ? 'length' : 'stop';
    if (chunk.usage) this.#usage = toUsage(chunk.usage);
    if (text === '') return;
    this.#firstMs ??= elapsedMs;
    this.#pieces++;
    yield { kind: 'text', text, tokens: 1 };
  }

  /** Errors: ENGINE_LOST: the stream ended without an end of the answer. */
  finish(totalMs: number): GenerateEvent {
    if (this.#finishReason === undefined) throw platformError('ENGINE_LOST', 'the model server ended its answer in the middle');
    const usage = this.#usage ?? { promptTokens: 0, completionTokens: this.#pieces, cachedTokens: 0 };
    return {
      kind: 'finished',
      finishReason: this.#finishReason,
      usage,
      timing: { queueMs: 0, firstTokenMs: this.#firstMs ?? totalMs, totalMs },
    };
  }
}

const toUsage = (usage: NonNullable<Chunk['usage']>): TokenUsage => ({
  promptTokens: usage.prompt_tokens ?? 0,
  completionTokens: usage.completion_tokens ?? 0,
  cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
});

interface EmbeddingAnswer {
  readonly data?: readonly { readonly index?: number; readonly embedding?: readonly number[] }[];
  readonly usage?: { readonly prompt_tokens?: number };
}

/** In the order of the texts, of unit length whatever the server's are. */
const toEmbedResult = (answer: unknown, texts: number): EmbedResult => {
  const { data = [], usage } = answer as EmbeddingAnswer;
  const inOrder = [...data].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  const vectors = inOrder.map(({ embedding = [] }) => normalised(embedding));
  if (vectors.length !== texts)
    throw platformError('ENGINE_STEP_FAILED', `the model server gave ${vectors.length} vectors for ${texts} texts`);
  return { vectors, promptTokens: usage?.prompt_tokens ?? 0 };
};

const normalised = (vector: readonly number[]): readonly number[] => {
  const length = Math.hypot(...vector);
  if (!Number.isFinite(length) || length === 0)
    throw platformError('ENGINE_STEP_FAILED', 'the model server gave a vector without a length');
  return vector.map((value) => value / length);
};
