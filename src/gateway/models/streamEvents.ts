import { toOstrakaError, utf8 } from '../../base/index.js';
import type { Clock, HttpResponse } from '../../platform/index.js';
import type { EventWriter } from './EventWriter.js';
import { routeFields } from './routeFields.js';
import { withPings } from './withPings.js';

/**
 * A streamed answer as server-sent events. The head waits for the first of them, so that what fails before is an HTTP error; after
 * `pingMs` of waiting it goes out with a ping. What fails later is an error event, without an end.
 */
export async function streamEvents<Event>(
  events: AsyncIterable<Event>,
  writer: EventWriter<Event>,
  options: { readonly clock: Clock; readonly pingMs: number },
): Promise<HttpResponse> {
  const head = { isSent: false };
  const body = serverSentEvents(events, writer, head);
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
    body: withPings(startingWith(first, body), { clock: options.clock, silentMs: options.pingMs, ping: utf8.encode(writer.ping) }),
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

async function* serverSentEvents<Event>(
  events: AsyncIterable<Event>,
  writer: EventWriter<Event>,
  head: { readonly isSent: boolean },
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const event of events) yield* encoded(writer.write(event));
    yield* encoded(writer.end());
  } catch (thrown) {
    if (!head.isSent) throw thrown;
    yield utf8.encode(writer.failed(toOstrakaError(thrown)));
  }
}

function* encoded(pieces: Iterable<string>): Generator<Uint8Array, void, void> {
  for (const piece of pieces) yield utf8.encode(piece);
}
