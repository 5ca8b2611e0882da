import { AsyncQueue } from '../base/index.js';
import type { Clock, GenerateEvent, GenerateRequest, ModelService } from '../platform/index.js';
import type { PrefixFetcher } from './prefix/PrefixFetcher.js';
import { withHeartbeat } from './withHeartbeat.js';

/** A request on this shard's own engine, with a `progress` event at least every `heartbeatMs` while it waits. */
export function localGeneration(request: {
  readonly modelService: ModelService;
  readonly prefixes: Pick<PrefixFetcher, 'prepare'>;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly eventsQueuedMax: number;
  readonly generate: GenerateRequest;
  readonly signal: AbortSignal;
}): AsyncGenerator<GenerateEvent> {
  const { clock, heartbeatMs, signal } = request;
  const queue = new AsyncQueue<GenerateEvent>({ itemsMax: request.eventsQueuedMax });
  const work = async (workSignal: AbortSignal): Promise<void> => {
    await request.prefixes.prepare(request.generate, workSignal);
    for await (const event of request.modelService.generate(request.generate, workSignal)) {
      await queue.whenDrained();
      queue.push(event);
    }
  };
  return withHeartbeat<GenerateEvent>({ clock, heartbeatMs, queue, work, signal, progress: { kind: 'progress' } });
}
