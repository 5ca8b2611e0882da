import type { OstrakaError } from '../base/index.js';
import type { Clock, Timer } from '../platform/index.js';

/**
 * Passes items through while each comes in time: the first within `firstMs`, each later one within `nextMs`. Otherwise calls `giveUp`,
 * which aborts the source, so that the iteration ends with its error.
 */
export async function* withProgressTimeout<Item>(
  items: AsyncIterable<Item>,
  limits: {
    readonly clock: Clock;
    readonly firstMs: number;
    readonly nextMs: number;
    readonly giveUp: (error: OstrakaError) => void;
    readonly error: (silentMs: number) => OstrakaError;
  },
): AsyncGenerator<Item, void, void> {
  let timer: Timer | undefined;
  const arm = (delayMs: number): void => {
    timer?.cancel();
    timer = limits.clock.setTimer(delayMs, () => limits.giveUp(limits.error(delayMs)));
  };
  arm(limits.firstMs);
  try {
    for await (const item of items) {
      timer?.cancel();
      yield item;
      arm(limits.nextMs);
    }
  } finally {
    timer?.cancel();
  }
}
