import { assertNever, type OstrakaError } from '../../../base/index.js';
import type { RoutingReport } from '../../../cooperation/index.js';
import { responses } from '../../responses.js';
import type { ChatEvent } from '../chat/ChatEvent.js';
import type { EventWriter } from '../EventWriter.js';
import { sse } from '../sse.js';
import { messageObject } from './messageObject.js';

/** Chat events as Anthropic's: message_start, blocks one after another, message_delta, message_stop. */
export class MessageEvents implements EventWriter<ChatEvent> {
  readonly ping = sse.typed({ type: 'ping' });
  readonly #frame: { readonly id: string; readonly model: string };
  readonly #requestId: string;
  #routing: RoutingReport | undefined;
  #open: 'text' | 'call' | undefined;
  /** Of the block that is open, else of the next. */
  #block = 0;

  constructor(frame: { readonly id: string; readonly model: string }, requestId: string) {
    this.#frame = frame;
    this.#requestId = requestId;
  }

  routings(): Iterable<RoutingReport> {
    return this.#routing === undefined ? [] : [this.#routing];
  }

  *write(event: ChatEvent): Iterable<string> {
    switch (event.kind) {
      case 'routed':
        this.#routing = event.routing;
        return;
      case 'opened':
        yield this.#start(event.promptTokens);
        yield this.ping;
        return;
      case 'text':
        if (this.#open !== 'text') yield* this.#openBlock('text', { type: 'text', text: '' });
        yield this.#delta({ type: 'text_delta', text: event.text });
        return;
      case 'call':
        yield* this.#openBlock('call', { type: 'tool_use', id: event.id, name: event.name, input: {} });
        return;
      case 'arguments':
        yield this.#delta({ type: 'input_json_delta', partial_json: event.text });
        return;
      case 'callEnded':
        yield* this.#close();
        return;
      case 'finished':
        yield* this.#finish(event);
        return;
      default:
        assertNever(event);
    }
  }

  *end(): Iterable<string> {
    yield sse.typed({ type: 'message_stop' });
  }

  failed(error: OstrakaError): string {
    const body = responses.anthropicErrorBody(error, this.#requestId);
    return sse.typed({ ...body, error: { ...body.error, code: 'stream_interrupted' } } as { readonly type: string });
  }

  #start(promptTokens: number): string {
    const usage = messageObject.usage({ promptTokens, completionTokens: 0, cachedTokens: 0 });
    const message = { ...messageObject.head(this.#frame, this.#routing), content: [], stop_reason: null, stop_sequence: null, usage };
    return sse.typed({ type: 'message_start', message } as { readonly type: string });
  }

  *#openBlock(kind: 'text' | 'call', block: object): Iterable<string> {
    yield* this.#close();
    this.#open = kind;
    yield this.#typed('content_block_start', { index: this.#block, content_block: block });
  }

  #delta(delta: object): string {
    return this.#typed('content_block_delta', { index: this.#block, delta });
  }

  *#close(): Iterable<string> {
    if (this.#open === undefined) return;
    yield this.#typed('content_block_stop', { index: this.#block++ });
    this.#open = undefined;
  }

  *#finish(event: Extract<ChatEvent, { readonly kind: 'finished' }>): Iterable<string> {
    if (this.#open === undefined && this.#block === 0) yield* this.#openBlock('text', { type: 'text', text: '' });
    yield* this.#close();
    yield this.#typed('message_delta', { delta: messageObject.ending(event), usage: messageObject.usage(event.usage) });
  }

  #typed(type: string, fields: object): string {
    return sse.typed({ type, ...fields } as { readonly type: string });
  }
}
