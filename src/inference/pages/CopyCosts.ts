import { movingMean } from '../../base/index.js';

/**
 * What it costs here to take rows out of the model and to put them back (R20): moving means, ms a row, so that keeping can be compared
 * with computing again.
 */
export class CopyCosts {
  readonly #weight: number;
  #outMs: number | undefined;
  #backMs: number | undefined;

  constructor(weight: number) {
    this.#weight = weight;
  }

  wasTakenOut(rows: number, elapsedMs: number): void {
    this.#outMs = movingMean(this.#outMs, elapsedMs / Math.max(1, rows), this.#weight);
  }

  wasPutBack(rows: number, elapsedMs: number): void {
    this.#backMs = movingMean(this.#backMs, elapsedMs / Math.max(1, rows), this.#weight);
  }

  get putBackRowMs(): number | undefined {
    return this.#backMs ?? this.#outMs;
  }

  /** Of so many rows, out and back; a way that was never gone costs as much as the other. Undefined before the first measurement. */
  keepMs(rows: number): number | undefined {
    const outMs = this.#outMs ?? this.#backMs;
    const backMs = this.#backMs ?? outMs;
    return outMs === undefined || backMs === undefined ? undefined : rows * (outMs + backMs);
  }
}
