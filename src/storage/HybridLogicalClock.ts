import type { Clock } from '../platform/index.js';
import type { Timestamp } from './Timestamp.js';

const epochMs = 1_577_836_800_000; // 2020-01-01
const ticksPerMs = 4096;

/**
 * One clock a shard, which orders its data: `now` is later than everything it gave or observed before, and close to wall time.
 * Every message between shards carries a timestamp that its receiver observes, so causes come before effects also when wall clocks differ.
 */
export class HybridLogicalClock {
  readonly #clock: Clock;
  #last: number;

  constructor(options: { readonly clock: Clock; readonly startAfter: Timestamp }) {
    this.#clock = options.clock;
    this.#last = options.startAfter;
  }

  now(): Timestamp {
    this.#last = Math.max(this.#last + 1, this.#physical());
    return this.#last as Timestamp;
  }

  /** The newest timestamp given or observed. */
  last(): Timestamp {
    return this.#last as Timestamp;
  }

  observe(timestamp: Timestamp): void {
    if (timestamp > this.#last) this.#last = timestamp;
  }

  /** Waits until wall time has passed the timestamp: after that, any shard's `now` on the same machine is later (commit wait). */
  async waitUntilPast(timestamp: Timestamp): Promise<void> {
    const aheadMs = Math.floor(timestamp / ticksPerMs) + 1 + epochMs - this.#clock.nowMs();
    if (aheadMs > 0) await this.#clock.sleep(aheadMs);
  }

  /** The timestamp `ageMs` before now, for horizons. */
  before(ageMs: number): Timestamp {
    return Math.max(0, this.#physical() - ageMs * ticksPerMs) as Timestamp;
  }

  #physical(): number {
    return (this.#clock.nowMs() - epochMs) * ticksPerMs;
  }
}
