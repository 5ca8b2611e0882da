import { raceAbort } from '../base/index.js';
import { platformError } from '../platform/index.js';
import type { EngineOptions } from './options.js';

interface Suspect {
  crashes: number;
  lastCrashMs: number;
  /** The engine ended while no other suspect ran. */
  isGuilty: boolean;
}

/** A request that ran when an engine ended. */
export interface CrashedRun {
  readonly digest: string;
  /** No other suspect ran beside it. */
  readonly alone: boolean;
}

/**
 * Which requests may be what ends the engine (R18). Every request that an engine had when it ended by itself is a suspect (it may end before it says whom it admitted); suspects
 * run one at a time from then on, so that a second end points at one of them, and that one is refused for a while: it must not end the
 * shard's engine again and again, nor those of others. That takes its time where many were running, but none of them is lost in the middle
 * of its answer. One that is answered is no suspect any more. Bounded: the oldest are forgotten.
 */
export class CrashSuspects {
  readonly #options: Pick<EngineOptions, 'quarantineMs' | 'suspectsMax'>;
  readonly #suspects = new Map<string, Suspect>();
  #lane: Promise<void> = Promise.resolve();

  constructor(options: Pick<EngineOptions, 'quarantineMs' | 'suspectsMax'>) {
    this.#options = options;
  }

  /** Errors: REQUEST_QUARANTINED. */
  check(digest: string, nowMs: number): void {
    const suspect = this.#suspects.get(digest);
    if (suspect === undefined) return;
    const leftMs = suspect.lastCrashMs + this.#options.quarantineMs - nowMs;
    if (leftMs <= 0) this.#suspects.delete(digest);
    else if (suspect.isGuilty)
      throw platformError('REQUEST_QUARANTINED', `the engine ended ${suspect.crashes} times while it ran this request`, {
        data: { digest, crashes: suspect.crashes, leftMs: Math.ceil(leftMs) },
      });
  }

  get isEmpty(): boolean {
    return this.#suspects.size === 0;
  }

  isSuspect(digest: string): boolean {
    return this.#suspects.has(digest);
  }

  /** Waits until no other suspect runs; the returned function lets the next one run. */
  async enter(signal: AbortSignal): Promise<() => void> {
    const before = this.#lane;
    let leave: () => void = () => undefined;
    const own = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.#lane = before.then(() => own);
    try {
      await raceAbort(before, signal);
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }

  answered(digest: string): void {
    this.#suspects.delete(digest);
  }

  /** An engine ended by itself while it ran these requests. */
  crashed(runs: Iterable<CrashedRun>, nowMs: number): void {
    for (const { digest, alone } of runs) {
      const known = this.#suspects.get(digest);
      const crashes = (known?.crashes ?? 0) + 1;
      const isGuilty = alone || (known?.isGuilty ?? false);
      this.#suspects.delete(digest);
      this.#suspects.set(digest, { crashes, lastCrashMs: nowMs, isGuilty });
    }
    for (const digest of this.#suspects.keys()) {
      if (this.#suspects.size <= this.#options.suspectsMax) break;
      this.#suspects.delete(digest);
    }
  }
}
