import { assertNever, type OstrakaError } from '../../../base/index.js';
import type { RoutingReport } from '../../../cooperation/index.js';
import { responses } from '../../responses.js';
import type { ChatEvent } from '../chat/ChatEvent.js';
import type { EventWriter } from '../EventWriter.js';
import { sse } from '../sse.js';
import { outputItems } from './outputItems.js';
import { type ResponseFrame, responseObject } from './responseObject.js';
import type { ResponseRequest } from './responseRequest.js';

type Finished = Extract<ChatEvent, { readonly kind: 'finished' }>;

/** The item that is being written: the last one. */
type OpenItem =
  | { readonly kind: 'message'; readonly id: string; text: string }
  | { readonly kind: 'call'; readonly id: string; readonly call: { readonly id: string; readonly name: string; arguments: string } };

/** Chat events as the events of OpenAI's responses, in their order and numbered. An answer without text or calls has one empty message. */
export class ResponseEvents implements EventWriter<ChatEvent> {
  readonly ping = sse.ping;
  readonly #frame: ResponseFrame;
  readonly #request: ResponseRequest;
  readonly #requestId: string;
  readonly #newItemId: (prefix: string) => string;
  readonly #output: object[] = [];
  #routing: RoutingReport | undefined;
  #open: OpenItem | undefined;
  #finished: Finished | undefined;
  #number = 0;

  constructor(parts: {
    readonly frame: ResponseFrame;
    readonly request: ResponseRequest;
    readonly requestId: string;
    readonly newItemId: (prefix: string) => string;
  }) {
    this.#frame = parts.frame;
    this.#request = parts.request;
    this.#requestId = parts.requestId;
    this.#newItemId = parts.newItemId;
  }

  routings(): Iterable<RoutingReport> {
    return this.#routing === undefined ? [] : [this.#routing];
  }

  /** The response as it is by now. */
  response(): object {
    const { finishReason, usage } = this.#finished ?? {};
    return responseObject(this.#frame, this.#request, {
      output: this.#output,
      ...(finishReason !== undefined && usage !== undefined && { finishReason, usage }),
      routing: this.#routing,
    });
  }

  *write(event: ChatEvent): Iterable<string> {
    switch (event.kind) {
      case 'routed':
        this.#routing = event.routing;
        return;
      case 'opened':
        yield this.#event('response.created', { response: this.response() });
        yield this.#event('response.in_progress', { response: this.response() });
        return;
      case 'text':
        yield* this.#text(event.text);
        return;
      case 'call':
        yield* this.#close('completed');
        yield* this.#openItem({ kind: 'call', id: this.#newItemId('fc_'), call: { id: event.id, name: event.name, arguments: '' } });
        return;
      case 'arguments':
        yield* this.#arguments(event.text);
        return;
      case 'callEnded':
        yield* this.#close('completed');
        return;
      case 'finished':
        yield* this.#finish(event);
        return;
      default:
        assertNever(event);
    }
  }

  *end(): Iterable<string> {
    const isCut = this.#finished?.finishReason === 'length';
    yield this.#event(isCut ? 'response.incomplete' : 'response.completed', { response: this.response() });
  }

  failed(error: OstrakaError): string {
    const { message, param } = responses.openAiErrorFields(error);
    return this.#event('error', { code: 'stream_interrupted', message, param, request_id: this.#requestId });
  }

  *#text(text: string): Iterable<string> {
    if (this.#open?.kind !== 'message') yield* this.#openItem({ kind: 'message', id: this.#newItemId('msg_'), text: '' });
    const open = this.#open as Extract<OpenItem, { kind: 'message' }>;
    open.text += text;
    yield this.#event('response.output_text.delta', { ...this.#place(open), content_index: 0, delta: text, logprobs: [] });
  }

  *#arguments(text: string): Iterable<string> {
    const open = this.#open as Extract<OpenItem, { kind: 'call' }>;
    open.call.arguments += text;
    yield this.#event('response.function_call_arguments.delta', { ...this.#place(open), delta: text });
  }

  *#openItem(open: OpenItem): Iterable<string> {
    this.#open = open;
    const item = { ...itemOf(open, 'in_progress'), ...(open.kind === 'message' && { content: [] }) };
    yield this.#event('response.output_item.added', { output_index: this.#output.length, item });
    if (open.kind === 'message')
      yield this.#event('response.content_part.added', { ...this.#place(open), content_index: 0, part: outputItems.text('') });
  }

  *#close(status: 'completed' | 'incomplete'): Iterable<string> {
    const open = this.#open;
    if (open === undefined) return;
    if (open.kind === 'message') {
      const place = { ...this.#place(open), content_index: 0 };
      yield this.#event('response.output_text.done', { ...place, text: open.text, logprobs: [] });
      yield this.#event('response.content_part.done', { ...place, part: outputItems.text(open.text) });
    } else
      yield this.#event('response.function_call_arguments.done', {
        ...this.#place(open),
        name: open.call.name,
        arguments: open.call.arguments,
      });
    const item = itemOf(open, status);
    yield this.#event('response.output_item.done', { output_index: this.#output.length, item });
    this.#output.push(item);
    this.#open = undefined;
  }

  *#finish(event: Finished): Iterable<string> {
    const isEmpty = this.#open === undefined && this.#output.length === 0;
    if (isEmpty) yield* this.#openItem({ kind: 'message', id: this.#newItemId('msg_'), text: '' });
    yield* this.#close(event.finishReason === 'length' ? 'incomplete' : 'completed');
    this.#finished = event;
  }

  #place(open: OpenItem): { readonly item_id: string; readonly output_index: number } {
    return { item_id: open.id, output_index: this.#output.length };
  }

  #event(type: string, fields: object): string {
    return sse.typed({ type, ...fields, sequence_number: this.#number++ } as { readonly type: string });
  }
}

const itemOf = (open: OpenItem, status: string): object =>
  open.kind === 'message' ? outputItems.message(open.id, open.text, status) : outputItems.call(open.id, open.call, status);
