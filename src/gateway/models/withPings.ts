import type { Clock } from '../../platform/index.js';

/**
 * Server-sent events with a ping after every `silentMs` of silence: proxies cut silent connections, and a request may wait long in a
 * queue or for its prompt. Ending the iteration early ends the source.
 */
export async function* withPings(
  events: AsyncIterable<Uint8Array>,
  options: { readonly clock: Clock; readonly silentMs: number; readonly ping: Uint8Array },
): AsyncGenerator<Uint8Array, void, void> {
  const iterator = events[Symbol.asyncIterator]();
  try {
    let next = iterator.next();
    while (true) {
      if (await isSilent(next, options)) {
        yield options.ping;
        continue;
      }
      const result = await next;
      if (result.done) return;
      yield result.value;
      next = iterator.next();
    }
  } finally {
    await iterator.return?.();
  }
}

/** True when the time is over first; what the work failed with comes when it is awaited. */
async function isSilent(
  work: Promise<unknown>,
  { clock, silentMs }: { readonly clock: Clock; readonly silentMs: number },
): Promise<boolean> {
  const isOver = new AbortController();
  const ended = work.then(
    () => false,
    () => false,
  );
  const silence = clock.sleep(silentMs, isOver.signal).then(
    () => true,
    () => false,
  );
  const result = await Promise.race([ended, silence]);
  isOver.abort();
  return result;
}
