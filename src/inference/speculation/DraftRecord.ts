import type { DraftOptions } from './DraftOptions.js';

/**
 * How often the drafts for one answer are right, a token: a moving share over those that were tried. While none is tried it returns to
 * where it began, so that an answer which has become predictable is noticed (R26).
 */
export class DraftRecord {
  readonly #options: DraftOptions;
  #share: number;

  constructor(options: DraftOptions) {
    this.#options = options;
    this.#share = options.draftShareFirst;
  }

  get share(): number {
    return this.#share;
  }

  /** So many tokens were drafted, the first `right` of them as the model then drew them. */
  tried(drafted: number, right: number): void {
    const { draftShareWeight } = this.#options;
    for (let token = 0; token < right; token++) this.#moveTo(1, draftShareWeight);
    if (right < drafted) this.#moveTo(0, draftShareWeight);
  }

  /** A token was drawn without a draft. */
  rested(): void {
    this.#moveTo(this.#options.draftShareFirst, this.#options.draftRetryWeight);
  }

  #moveTo(value: number, weight: number): void {
    this.#share += (value - this.#share) * weight;
  }
}
