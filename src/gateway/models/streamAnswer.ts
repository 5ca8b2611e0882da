import { toOstrakaError, utf8 } from '../../base/index.js';
import type { RoutingReport } from '../../cooperation/index.js';
import type { Clock, GenerateEvent, HttpResponse, TokenUsage } from '../../platform/index.js';
import { responses } from '../responses.js';
import type { ChoiceEvent } from './ChoiceStream.js';
import { routeFields } from './routeFields.js';
import { withPings } from './withPings.js';

type TextEvent = Extract<GenerateEvent, { readonly kind: 'text' }>;

/** How one kind of completion writes its chunks, as JSON bodies. */
export interface StreamFormat {
  /** First chunk of an answer; `routing` again whenever another shard takes over. */
  opening(index: number, routing: RoutingReport | undefined): object;
  rerouted(index: number, routing: RoutingReport): object;
  text(index: number, event: TextEvent): object;
  ending(index: number, finishReason: string): object;
  /** After all answers, where the client asked for it. */
  usage(usage: TokenUsage): object;
}

interface StreamOptions {
  readonly clock: Clock;
  readonly pingMs: number;
  readonly includeUsage: boolean;
}

const noUsage: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

/**
 * A streamed completion as server-sent events. The head waits for the first admission, so that what fails before is an HTTP error; after
 * `pingMs` of waiting it goes out with a comment. What fails later is an error event, without `[DONE]`.
 */
export async function streamAnswer(
  events: AsyncIterable<ChoiceEvent>,
  format: StreamFormat,
  options: StreamOptions,
): Promise<HttpResponse> {
  const head = { isSent: false };
  const writer = new ChunkWriter(format);
  const body = serverSentEvents(events, { format, options, head, writer });
  const first = body.next();
  const isOver = new AbortController();
  try {
    await Promise.race([first, options.clock.sleep(options.pingMs, isOver.signal).catch(() => undefined)]);
  } finally {
    isOver.abort();
  }
  head.isSent = true;
  return {
    status: 200,
    headers: { ...streamHeaders, ...routeFields.headers(writer.routings()) },
    body: withPings(startingWith(first, body), { clock: options.clock, silentMs: options.pingMs }),
  };
}

const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

async function* startingWith(
  first: Promise<IteratorResult<Uint8Array, void>>,
  rest: AsyncGenerator<Uint8Array, void, void>,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    const result = await first;
    if (!result.done) yield result.value;
    yield* rest;
  } finally {
    await rest.return();
  }
}

async function* serverSentEvents(
  events: AsyncIterable<ChoiceEvent>,
  given: {
    readonly format: StreamFormat;
    readonly options: StreamOptions;
    readonly head: { readonly isSent: boolean };
    readonly writer: ChunkWriter;
  },
): AsyncGenerator<Uint8Array, void, void> {
  const { format, options, head, writer } = given;
  try {
    for await (const event of events) yield* writer.chunks(event);
    if (options.includeUsage) yield data(format.usage(writer.usage));
    yield utf8.encode('data: [DONE]\n\n');
  } catch (thrown) {
    if (!head.isSent) throw thrown;
    yield data({ error: responses.openAiErrorFields(toOstrakaError(thrown), 'stream_interrupted') });
  }
}

const data = (body: object): Uint8Array => utf8.encode(`data: ${JSON.stringify(body)}\n\n`);

/** Chunks of all answers of one request, and what they used together. */
class ChunkWriter {
  readonly #format: StreamFormat;
  readonly #routings = new Map<number, RoutingReport>();
  readonly #opened = new Set<number>();
  usage: TokenUsage = noUsage;

  constructor(format: StreamFormat) {
    this.#format = format;
  }

  /** Who answers, as far as it is known yet. */
  routings(): Iterable<RoutingReport> {
    return this.#routings.values();
  }

  *chunks({ index, event }: ChoiceEvent): Generator<Uint8Array, void, void> {
    switch (event.kind) {
      case 'routed':
        this.#routings.set(index, event.routing);
        // Lost after admission and before any text: another shard answers, and the client hears which.
        if (this.#opened.has(index)) yield data(this.#format.rerouted(index, event.routing));
        return;
      case 'admitted':
        if (this.#opened.has(index)) return;
        this.#opened.add(index);
        yield data(this.#format.opening(index, this.#routings.get(index)));
        return;
      case 'text':
        yield data(this.#format.text(index, event));
        return;
      case 'finished':
        this.usage = added(this.usage, event.usage);
        yield data(this.#format.ending(index, event.finishReason));
        return;
      case 'progress':
        return;
    }
  }
}

/** Answers to one question count its prompt once each, as they are computed. */
const added = (left: TokenUsage, right: TokenUsage): TokenUsage => ({
  promptTokens: left.promptTokens + right.promptTokens,
  completionTokens: left.completionTokens + right.completionTokens,
  cachedTokens: left.cachedTokens + right.cachedTokens,
});
