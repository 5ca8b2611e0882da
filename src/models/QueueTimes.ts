import type { EngineOptions } from './options.js';

/** Weight of one admission among many of the same moment. */
const admissionShareMin = 1 / 8;

/**
 * How long requests wait for admission now: a mean weighted by time. An admission counts the more, the longer nothing was known; while
 * nobody waits the mean fades by half every `queueTimeHalfLifeMs`, so that a fault or a burst long past does not keep requests away.
 * Milliseconds of the monotonic clock.
 */
export class QueueTimes {
  readonly #halfLifeMs: number;
  #meanMs = 0;
  #fadesFromMs = 0;
  #admittedAtMs = Number.NEGATIVE_INFINITY;
  #waiting = 0;

  constructor(options: Pick<EngineOptions, 'queueTimeHalfLifeMs'>) {
    this.#halfLifeMs = options.queueTimeHalfLifeMs;
  }

  /** A request begins to wait; ends with exactly one `admitted` or `gaveUp`. */
  enqueued(nowMs: number): void {
    this.#settle(nowMs);
    this.#waiting++;
  }

  admitted(queueMs: number, nowMs: number): void {
    const share = Math.max(admissionShareMin, 1 - this.#remains(nowMs - this.#admittedAtMs));
    this.#settle(nowMs);
    this.#waiting--;
    this.#meanMs += (queueMs - this.#meanMs) * share;
    this.#admittedAtMs = nowMs;
  }

  gaveUp(nowMs: number): void {
    this.#settle(nowMs);
    this.#waiting--;
  }

  /** In whole milliseconds and whole halvings: a mean that fades must not make a new load report of every look at it. */
  meanMs(nowMs: number): number {
    const halvings = this.#waiting > 0 ? 0 : Math.floor((nowMs - this.#fadesFromMs) / this.#halfLifeMs);
    return Math.round(this.#meanMs * 2 ** -halvings);
  }

  /** What remains of the mean goes on fading from now. */
  #settle(nowMs: number): void {
    if (this.#waiting === 0) this.#meanMs *= this.#remains(nowMs - this.#fadesFromMs);
    this.#fadesFromMs = nowMs;
  }

  #remains(elapsedMs: number): number {
    return 2 ** (-elapsedMs / this.#halfLifeMs);
  }
}
