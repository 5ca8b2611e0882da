import { raceAbort } from '../base/index.js';
import { platformError } from '../platform/index.js';
import type { EngineOptions } from './options.js';

interface Suspect {
  crashes: number;
  lastCrashMs: number;
}

/**
 * Which requests may be what ends the engine (R18). Every request that ran when an engine ended by itself is a suspect; suspects run one
 * at a time from then on, so that a second end points at one of them, and that one is refused for a while: it must not end the shard's
 * engine again and again, nor those of others. A suspect that is answered is none any more. Bounded: the oldest suspects are forgotten.
 */
export class CrashSuspects {
  readonly #options: Pick<EngineOptions, 'quarantineCrashes' | 'quarantineMs' | 'suspectsMax'>;
  readonly #suspects = new Map<string, Suspect>();
  #lane: Promise<void> = Promise.resolve();

  constructor(options: Pick<EngineOptions, 'quarantineCrashes' | 'quarantineMs' | 'suspectsMax'>) {
    this.#options = options;
  }

  /** Errors: REQUEST_QUARANTINED. */
  check(digest: string, nowMs: number): void {
    const suspect = this.#suspects.get(digest);
    if (suspect === undefined) return;
    const leftMs = suspect.lastCrashMs + this.#options.quarantineMs - nowMs;
    if (leftMs <= 0) this.#suspects.delete(digest);
    else if (suspect.crashes >= this.#options.quarantineCrashes)
      throw platformError('REQUEST_QUARANTINED', `the engine ended ${suspect.crashes} times while it ran this request`, {
        data: { digest, crashes: suspect.crashes, leftMs: Math.ceil(leftMs) },
      });
  }

  /** Waits until no other suspect runs; the returned function lets the next one run. At once for a request that is none. */
  async enter(digest: string, signal: AbortSignal): Promise<() => void> {
    if (!this.#suspects.has(digest)) return () => undefined;
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
  crashed(digests: Iterable<string>, nowMs: number): void {
    for (const digest of new Set(digests)) {
      const crashes = (this.#suspects.get(digest)?.crashes ?? 0) + 1;
      this.#suspects.delete(digest);
      this.#suspects.set(digest, { crashes, lastCrashMs: nowMs });
    }
    for (const digest of this.#suspects.keys()) {
      if (this.#suspects.size <= this.#options.suspectsMax) break;
      this.#suspects.delete(digest);
    }
  }
}
