/** Time. Under simulation it is virtual; nothing in core reads time elsewhere. */
export interface Clock {
  /** Wall time, milliseconds since 1970, integer. May step; never use a difference of two as a duration. */
  nowMs(): number;
  /** Monotonic time in milliseconds, fractional, arbitrary origin. */
  monotonicMs(): number;
  /** Resolves after `delayMs`; rejects with the signal's typed reason when it aborts first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once after `delayMs` unless cancelled. The callback must not throw. */
  setTimer(delayMs: number, callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}
