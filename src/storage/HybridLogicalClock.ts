import type { Clock } from '../platform/index.js';
import { storageError } from './errors.js';
import type { Timestamp } from './Timestamp.js';

const epochMs = 1_577_836_800_000; // 2020-01-01
const ticksPerMs = 4096;

/**
 * One clock a shard, which orders its data: `now` is later than everything it gave or observed before, and close to wall time.
 * Every message between shards carries a timestamp that its receiver observes, so causes come before effects also when wall clocks differ.
 */
export class HybridLogicalClock {
  readonly #clock: Clock;
  readonly #aheadMsMax: number;
  #last: number;

  constructor(options: { readonly clock: Clock; readonly startAfter: Timestamp; readonly aheadMsMax: number }) {
    this.#clock = options.clock;
    this.#aheadMsMax = options.aheadMsMax;
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

  /**
   * Takes in the timestamp of another shard. Error CLOCK_AHEAD, and nothing is taken in, where it is further ahead than `aheadMsMax`: one
   * wrong clock would drag all others along. Measured from the later of wall time and `last`, so that a shard whose own wall clock was set
   * back still understands the others.
   */
  observe(timestamp: Timestamp): void {
    if (timestamp - Math.max(this.#last, this.#physical()) > this.#aheadMsMax * ticksPerMs)
      throw storageError('CLOCK_AHEAD', `a timestamp of another shard is more than ${this.#aheadMsMax} ms ahead of this one`);
    this.adopt(timestamp);
  }

  /** Takes in a timestamp that counts already, of what is decided or stored, however far ahead it is. */
  adopt(timestamp: Timestamp): void {
    if (timestamp > this.#last) this.#last = timestamp;
  }

  /** A commit at `timestamp` (default: now) would not wait longer than `aheadMsMax`. Error CLOCK_AHEAD; to be asked before the commit. */
  demandNear(timestamp: number = this.#last): void {
    if (this.#aheadMs(timestamp) <= this.#aheadMsMax) return;
    throw storageError('CLOCK_AHEAD', `this shard's data is more than ${this.#aheadMsMax} ms ahead of its wall clock, which was set back`);
  }

  /**
   * Waits until wall time has passed the timestamp: after that, any shard's `now` on the same machine is later (commit wait). It never
   * fails, since what it waits after is committed: it ends early with `signal`, whose caller hears no answer, and after `aheadMsMax`.
   */
  async waitUntilPast(timestamp: Timestamp, signal: AbortSignal): Promise<void> {
    const aheadMs = Math.min(this.#aheadMs(timestamp), this.#aheadMsMax);
    if (aheadMs > 0 && !signal.aborted) await this.#clock.sleep(aheadMs, signal).catch(() => undefined);
  }

  /** The timestamp `ageMs` before now, for horizons. */
  before(ageMs: number): Timestamp {
    return Math.max(0, this.#physical() - ageMs * ticksPerMs) as Timestamp;
  }

  #aheadMs(timestamp: number): number {
    return Math.floor(timestamp / ticksPerMs) + 1 + epochMs - this.#clock.nowMs();
  }

  #physical(): number {
    return (this.#clock.nowMs() - epochMs) * ticksPerMs;
  }
}
