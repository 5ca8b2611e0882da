import type { ShardId } from '../base/index.js';

/**
 * Requests this shard has sent whose arrival the target's load reports do not show yet: taken at decision time, so that a burst spreads
 * instead of all going to the shard that was idle a moment ago. Each is released once, when the target has admitted it or it failed.
 */
export class Reservations {
  readonly #counts = new Map<ShardId, number>();

  of(shardId: ShardId): number {
    return this.#counts.get(shardId) ?? 0;
  }

  take(shardId: ShardId): { release(): void } {
    this.#counts.set(shardId, this.of(shardId) + 1);
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#counts.set(shardId, this.of(shardId) - 1);
      },
    };
  }
}
