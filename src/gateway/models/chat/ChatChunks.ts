import { assertNever, type OstrakaError } from '../../../base/index.js';
import type { RoutingReport } from '../../../cooperation/index.js';
import type { TokenUsage } from '../../../platform/index.js';
import { responses } from '../../responses.js';
import type { EventWriter } from '../EventWriter.js';
import { openAiFields } from '../openAiFields.js';
import { sse } from '../sse.js';
import type { ChatEvent } from './ChatEvent.js';
import type { ChatFrame } from './chatCompletion.js';
import type { ChatRequest } from './chatRequest.js';

type ChunkFields = { readonly logprobs?: object | null; readonly finish_reason?: string; readonly stop_reason?: string | null };

/** Chat events as OpenAI's chunks. */
export class ChatChunks implements EventWriter<ChatEvent> {
  readonly ping = sse.ping;
  readonly #frame: ChatFrame;
  readonly #chat: ChatRequest;
  readonly #requestId: string;
  readonly #routings = new Map<number, RoutingReport>();
  readonly #opened = new Set<number>();
  readonly #usages = new Map<number, TokenUsage>();

  constructor(frame: ChatFrame, chat: ChatRequest, requestId: string) {
    this.#frame = frame;
    this.#chat = chat;
    this.#requestId = requestId;
  }

  routings(): Iterable<RoutingReport> {
    return this.#routings.values();
  }

  *write(event: ChatEvent): Iterable<string> {
    const body = this.#bodyOf(event);
    if (body !== undefined) yield sse.data(body);
  }

  *end(): Iterable<string> {
    if (this.#chat.includeUsage) yield sse.data({ ...this.#head(), choices: [], usage: this.#usage() });
    yield sse.done;
  }

  failed(error: OstrakaError): string {
    return sse.data({ error: { ...responses.openAiErrorFields(error, 'stream_interrupted'), request_id: this.#requestId } });
  }

  #bodyOf(event: ChatEvent): object | undefined {
    const { index } = event;
    switch (event.kind) {
      case 'routed':
        return this.#routed(index, event.routing);
      case 'opened':
        return this.#open(index);
      case 'text':
        return this.#chunk(index, { content: event.text }, { logprobs: openAiFields.chatLogprobs(event.logprobs) });
      case 'call':
        return this.#call(index, { index: event.call, id: event.id, type: 'function', function: { name: event.name, arguments: '' } });
      case 'arguments':
        return this.#call(index, { index: event.call, function: { arguments: event.text } });
      case 'callEnded':
        return undefined;
      case 'finished':
        this.#usages.set(index, event.usage);
        return this.#chunk(index, {}, { finish_reason: event.finishReason, stop_reason: event.stopText ?? null });
      default:
        return assertNever(event);
    }
  }

  /** Lost after admission and before any text: another shard answers, and the client hears which. */
  #routed(index: number, routing: RoutingReport): object | undefined {
    this.#routings.set(index, routing);
    return this.#opened.has(index) ? { ...this.#chunk(index, {}), ostraka: openAiFields.routing(routing) } : undefined;
  }

  #open(index: number): object {
    this.#opened.add(index);
    const routing = this.#routings.get(index);
    return { ...this.#chunk(index, { role: 'assistant', content: '' }), ...(routing && { ostraka: openAiFields.routing(routing) }) };
  }

  #call(index: number, call: object): object {
    return this.#chunk(index, { tool_calls: [call] });
  }

  #chunk(index: number, delta: object, fields: ChunkFields = {}): object {
    const choices = [{ index, delta, logprobs: null, finish_reason: null, ...fields }];
    return { ...this.#head(), choices, ...(this.#chat.includeUsage && { usage: null }) };
  }

  #head(): object {
    return { ...this.#frame, object: 'chat.completion.chunk' };
  }

  #usage(): object {
    const inOrder = [...this.#usages].sort(([left], [right]) => left - right).map(([, usage]) => usage);
    return openAiFields.usage(openAiFields.usageOf(inOrder, this.#chat.choices));
  }
}
