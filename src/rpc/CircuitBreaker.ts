import type { Clock } from '../platform/index.js';

export type BreakerState = 'closed' | 'open' | 'half-open';

/**
 * Breaker of one peer (R30, paper §V): opens after `failuresMax` consecutive failures, lets exactly one probe through after
 * `recoveryMs`, closes on its success. Counts transport failures and timeouts; application errors and cancellations are successes of
 * the transport. A new incarnation of the peer starts closed.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #failuresMax: number;
  readonly #recoveryMs: number;
  #failures = 0;
  #openedAtMs: number | undefined;
  #probing = false;
  /** Counts resets: calls granted before one say nothing of the peer's present life. */
  #life = 0;

  constructor(parts: { readonly clock: Clock; readonly failuresMax: number; readonly recoveryMs: number }) {
    this.#clock = parts.clock;
    this.#failuresMax = parts.failuresMax;
    this.#recoveryMs = parts.recoveryMs;
  }

  get state(): BreakerState {
    if (this.#openedAtMs === undefined) return 'closed';
    return this.#clock.monotonicMs() - this.#openedAtMs >= this.#recoveryMs ? 'half-open' : 'open';
  }

  /** Whether a call would be let through now; takes nothing. */
  get admits(): boolean {
    const { state } = this;
    return state === 'closed' || (state === 'half-open' && !this.#probing);
  }

  /** Asks to make a call; in half-open state the first to ask is the probe. `proven`: the peer has answered something, so that a long answer keeps nobody waiting. Every granted call reports its end once. */
  tryEnter(): { proven(): void; end(outcome: 'success' | 'failure' | 'neutral'): void } | undefined {
    if (!this.admits) return undefined;
    let isProbe = this.state === 'half-open';
    if (isProbe) this.#probing = true;
    const life = this.#life;
    return {
      proven: () => {
        if (life !== this.#life || !isProbe) return;
        isProbe = false;
        this.#probing = false;
        this.#close();
      },
      end: (outcome) => {
        if (life !== this.#life) return;
        if (isProbe) this.#probing = false;
        if (outcome === 'success') this.#close();
        if (outcome === 'failure') this.#fail(isProbe);
      },
    };
  }

  /** The peer came back as another process: what the old one did is no evidence. */
  reset(): void {
    this.#life++;
    this.#probing = false;
    this.#close();
  }

  #close(): void {
    this.#failures = 0;
    this.#openedAtMs = undefined;
  }

  #fail(isProbe: boolean): void {
    this.#failures++;
    if (isProbe || (this.#openedAtMs === undefined && this.#failures >= this.#failuresMax)) this.#openedAtMs = this.#clock.monotonicMs();
  }
}
