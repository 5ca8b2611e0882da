/**
 * How much of the engine's time patient work takes while others want it (R28): after a pass it stands back for so long that the pass was
 * `share` of the whole. Where nobody else wants the engine it need not stand back. Whoever comes meanwhile waits for the end of one pass.
 */
export class PatientShare {
  readonly #restFactor: number;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #startedMs: number | undefined;

  constructor({ share }: { readonly share: number }) {
    this.#restFactor = (1 - share) / share;
  }

  mayStart(nowMs: number, othersWait: boolean): boolean {
    return !othersWait || nowMs >= this.#restsUntilMs;
  }

  started(nowMs: number): void {
    this.#startedMs = nowMs;
  }

  /** The step is over; nothing where no patient pass was part of it. */
  ended(nowMs: number): void {
    if (this.#startedMs === undefined) return;
    this.#restsUntilMs = nowMs + (nowMs - this.#startedMs) * this.#restFactor;
    this.#startedMs = undefined;
  }
}
