import type { EmbedOutcome } from './EmbedOutcome.js';

/** What became of a row. `left`: somebody else has changed it, removed it or done it. */
export type RowResult =
  | { readonly kind: 'embedded' | 'current' | 'cleared' | 'empty' | 'left' }
  | { readonly kind: 'failed'; readonly code: string };

const failuresMax = 10;

/** What a run has done so far. Rows are counted once, in its first look at the collection; what it does after that is `again`. */
export class EmbedCounts {
  readonly #kinds = { embedded: 0, current: 0, cleared: 0, empty: 0, left: 0, failed: 0 };
  #isFirstLook = true;
  #rows = 0;
  #again = 0;
  #failures: EmbedOutcome['failures'] = [];
  /** What the model was asked. */
  readonly asked = { texts: 0, requests: 0, promptTokens: 0, cut: 0 };

  /** Rows that are done with. */
  get done(): number {
    return this.#rows;
  }

  /** Of them those that cost no pass over the model. */
  get skipped(): number {
    const { current, cleared, empty, left } = this.#kinds;
    return current + cleared + empty + left;
  }

  firstLookEnded(): void {
    this.#isFirstLook = false;
  }

  add(key: string, result: RowResult): void {
    if (this.#isFirstLook) this.#rows++;
    else if (result.kind === 'embedded') this.#again++;
    else if (result.kind !== 'cleared' && result.kind !== 'failed') return;
    this.#kinds[result.kind]++;
    if (result.kind === 'failed' && this.#failures.length < failuresMax) this.#failures = [...this.#failures, { key, code: result.code }];
  }

  outcome(changing: number): EmbedOutcome {
    const { embedded, current, cleared, empty, left, failed } = this.#kinds;
    const kinds = { embedded, current: current + left, cleared, empty, failed };
    return { rows: this.#rows, ...kinds, again: this.#again, failures: this.#failures, changing, ...this.asked };
  }
}
