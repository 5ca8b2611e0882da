import type { OstrakaError } from '../../base/index.js';
import type { RoutingReport } from '../../cooperation/index.js';
import type { Clock, GenerateEvent, HttpResponse, TokenUsage } from '../../platform/index.js';
import { responses } from '../responses.js';
import type { ChoiceEvent } from './ChoiceStream.js';
import type { EventWriter } from './EventWriter.js';
import { sse } from './sse.js';
import { streamEvents } from './streamEvents.js';

type TextEvent = Extract<GenerateEvent, { readonly kind: 'text' }>;

/** How a text completion writes its chunks, as JSON bodies. */
export interface StreamFormat {
  /** First chunk of an answer; `rerouted` again whenever another shard takes over. */
  opening(index: number, routing: RoutingReport | undefined): object;
  rerouted(index: number, routing: RoutingReport): object;
  text(index: number, event: TextEvent): object;
  ending(index: number, finishReason: string): object;
  /** After all answers, where the client asked for it; in the order of the answers. */
  usage(usages: readonly TokenUsage[]): object;
}

interface StreamOptions {
  readonly clock: Clock;
  readonly pingMs: number;
  readonly includeUsage: boolean;
  readonly requestId: string;
}

/** A streamed text completion as server-sent events, ended by `[DONE]` or by an error. */
export function streamAnswer(events: AsyncIterable<ChoiceEvent>, format: StreamFormat, options: StreamOptions): Promise<HttpResponse> {
  return streamEvents(events, new ChunkWriter(format, options), options);
}

/** Chunks of all answers of one request, and what they used together. */
class ChunkWriter implements EventWriter<ChoiceEvent> {
  readonly ping = sse.ping;
  readonly #format: StreamFormat;
  readonly #options: StreamOptions;
  readonly #routings = new Map<number, RoutingReport>();
  readonly #opened = new Set<number>();
  readonly #usages = new Map<number, TokenUsage>();

  constructor(format: StreamFormat, options: StreamOptions) {
    this.#format = format;
    this.#options = options;
  }

  routings(): Iterable<RoutingReport> {
    return this.#routings.values();
  }

  *write({ index, event }: ChoiceEvent): Iterable<string> {
    switch (event.kind) {
      case 'routed':
        this.#routings.set(index, event.routing);
        // Lost after admission and before any text: another shard answers, and the client hears which.
        if (this.#opened.has(index)) yield sse.data(this.#format.rerouted(index, event.routing));
        return;
      case 'admitted':
        if (this.#opened.has(index)) return;
        this.#opened.add(index);
        yield sse.data(this.#format.opening(index, this.#routings.get(index)));
        return;
      case 'text':
        yield sse.data(this.#format.text(index, event));
        return;
      case 'finished':
        this.#usages.set(index, event.usage);
        yield sse.data(this.#format.ending(index, event.finishReason));
        return;
      case 'progress':
        return;
    }
  }

  *end(): Iterable<string> {
    const inOrder = [...this.#usages].sort(([left], [right]) => left - right).map(([, usage]) => usage);
    if (this.#options.includeUsage) yield sse.data(this.#format.usage(inOrder));
    yield sse.done;
  }

  failed(error: OstrakaError): string {
    return sse.data({ error: { ...responses.openAiErrorFields(error, 'stream_interrupted'), request_id: this.#options.requestId } });
  }
}
