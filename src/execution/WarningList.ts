import { executionError } from './errors.js';

export interface QueryWarning {
  /** ArangoDB's number. */
  readonly code: number;
  readonly message: string;
}

/** Warnings of one query: the first `warningsMax` are kept. With `failOnWarning` the first is error QUERY_WARNING. */
export class WarningList {
  readonly #warnings: QueryWarning[] = [];
  readonly #warningsMax: number;
  readonly #failOnWarning: boolean;

  constructor(options: { readonly warningsMax: number; readonly failOnWarning: boolean }) {
    this.#warningsMax = options.warningsMax;
    this.#failOnWarning = options.failOnWarning;
  }

  get all(): readonly QueryWarning[] {
    return this.#warnings;
  }

  add(code: number, message: string): void {
    if (this.#failOnWarning) throw executionError('QUERY_WARNING', message, { data: { warning: code } });
    if (this.#warnings.length < this.#warningsMax) this.#warnings.push({ code, message });
  }
}
