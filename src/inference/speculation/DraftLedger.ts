import type { InferenceOptions } from '../options.js';

/** How much drafting may lose. */
export type LedgerOptions = Pick<InferenceOptions, 'draftLossShareMax' | 'draftCreditMsMax'>;

/**
 * What drafting has gained and lost against steps without (R26), so that it never costs more than a share of the time: a step with drafts
 * that draws less than it would have without is a loss, and while losses are not earned back nothing is drafted. Every plain step earns
 * that share of its time, which pays for a try from time to time.
 */
export class DraftLedger {
  readonly #options: LedgerOptions;
  #balanceMs = 0;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Drafts may be tried now. */
  get allows(): boolean {
    return this.#balanceMs >= 0;
  }

  /** A step without drafts took so long. */
  plain(elapsedMs: number): void {
    this.#book(elapsedMs * this.#options.draftLossShareMax);
  }

  /** A step with drafts took `elapsedMs`; steps without would have drawn the same tokens in `plainMs`. */
  drafted(elapsedMs: number, plainMs: number): void {
    this.#book(plainMs - elapsedMs);
  }

  #book(ms: number): void {
    this.#balanceMs = Math.min(this.#balanceMs + ms, this.#options.draftCreditMsMax);
  }
}
