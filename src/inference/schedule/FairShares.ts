interface Share {
  served: number;
  lastAdmittedMs: number;
}

/**
 * What each owner of requests has had of the model, in rows (R19). An owner that comes back is lifted to the least of those that wait: who
 * was away saved nothing up, and who has just come owes nothing. Bounded: beyond `ownersMax` the owners that had least are forgotten,
 * which the lift makes good.
 */
export class FairShares {
  readonly #ownersMax: number;
  readonly #shares = new Map<string, Share>();

  constructor(options: { readonly ownersMax: number }) {
    this.#ownersMax = options.ownersMax;
  }

  /** An owner that had nothing waiting begins to wait beside `others`. */
  enter(owner: string, others: Iterable<string>): void {
    const least = Math.min(...[...others].map((other) => this.servedBy(other)));
    const share = this.#shareOf(owner);
    if (Number.isFinite(least)) share.served = Math.max(share.served, least);
  }

  charge(owner: string, rows: number): void {
    this.#shareOf(owner).served += rows;
  }

  admitted(owner: string, nowMs: number): void {
    this.#shareOf(owner).lastAdmittedMs = nowMs;
  }

  servedBy(owner: string): number {
    return this.#shares.get(owner)?.served ?? 0;
  }

  /** Monotonic milliseconds; long ago for an owner that had none. */
  lastAdmittedMs(owner: string): number {
    return this.#shares.get(owner)?.lastAdmittedMs ?? Number.NEGATIVE_INFINITY;
  }

  #shareOf(owner: string): Share {
    const known = this.#shares.get(owner);
    if (known !== undefined) return known;
    if (this.#shares.size >= this.#ownersMax) this.#forgetLeast();
    const share = { served: 0, lastAdmittedMs: Number.NEGATIVE_INFINITY };
    this.#shares.set(owner, share);
    return share;
  }

  #forgetLeast(): void {
    const least = [...this.#shares].reduce((first, other) => (other[1].served < first[1].served ? other : first));
    this.#shares.delete(least[0]);
  }
}
