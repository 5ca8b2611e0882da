import { AsyncQueue } from '../base/index.js';
import type { Clock, GenerateEvent, GenerateRequest, ModelService, Timer } from '../platform/index.js';

/**
 * A request on this shard's own engine, with a `progress` event at least every `heartbeatMs` while it waits: the asking shard tells a
 * busy engine from a lost one by it.
 */
export async function* localGeneration(request: {
  readonly modelService: ModelService;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly eventsQueuedMax: number;
  readonly generate: GenerateRequest;
  readonly signal: AbortSignal;
}): AsyncGenerator<GenerateEvent, void, void> {
  const stopped = new AbortController();
  const queue = new AsyncQueue<GenerateEvent>({ itemsMax: request.eventsQueuedMax });
  let heartbeat: Timer | undefined;
  const beat = (): void => {
    heartbeat = request.clock.setTimer(request.heartbeatMs, () => {
      if (queue.length === 0) queue.push({ kind: 'progress' });
      beat();
    });
  };
  const pump = async (): Promise<void> => {
    const signal = AbortSignal.any([request.signal, stopped.signal]);
    for await (const event of request.modelService.generate(request.generate, signal)) {
      await queue.whenDrained();
      queue.push(event);
    }
  };
  beat();
  pump().then(
    () => queue.close(),
    (error: unknown) => queue.fail(error),
  );
  try {
    yield* queue;
  } finally {
    heartbeat?.cancel();
    stopped.abort(request.signal.reason);
  }
}
