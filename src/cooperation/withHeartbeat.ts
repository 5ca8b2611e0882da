import type { AsyncQueue } from '../base/index.js';
import type { Clock, Timer } from '../platform/index.js';

/** Work of an engine as the asking shard reads it. */
export interface Heartbeat<Item> {
  readonly clock: Clock;
  /** The longest silence, ms. */
  readonly heartbeatMs: number;
  readonly queue: AsyncQueue<Item>;
  /** Pushes into the queue; the iteration ends when it resolves, with its error when it rejects. */
  readonly work: (signal: AbortSignal) => Promise<unknown>;
  readonly signal: AbortSignal;
  readonly progress: Item;
}

/**
 * Runs `work` and passes on what it pushes, with `progress` whenever nothing else was there for `heartbeatMs`: the asking shard tells a
 * busy engine from a lost one by it. Leaving the iteration stops the work.
 */
export async function* withHeartbeat<Item>({ clock, heartbeatMs, queue, work, signal, progress }: Heartbeat<Item>): AsyncGenerator<Item> {
  const stopped = new AbortController();
  let heartbeat: Timer | undefined;
  const beat = (): void => {
    heartbeat = clock.setTimer(heartbeatMs, () => {
      if (queue.length === 0) queue.push(progress);
      beat();
    });
  };
  beat();
  work(AbortSignal.any([signal, stopped.signal])).then(
    () => queue.close(),
    (error: unknown) => queue.fail(error),
  );
  try {
    yield* queue;
  } finally {
    heartbeat?.cancel();
    stopped.abort(signal.reason);
  }
}
