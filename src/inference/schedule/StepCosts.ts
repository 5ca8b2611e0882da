import { boundedMean } from './boundedMean.js';
import { type DecodeCostOptions, DecodeCosts } from './DecodeCosts.js';

/** Milliseconds that the work of a step takes, as measured; undefined before the first measurement. */
export interface StepCostFigures {
  /** Of one row of a prompt, in pieces of 64 rows and more where there were such. */
  readonly prefillRowMs: number | undefined;
  /** Of a decode step of as many rows as asked for. */
  readonly decodeStepMs: number | undefined;
}

export interface MeasuredStep {
  readonly prefillRows: number;
  readonly decodeRows: number;
  readonly embedRows: number;
}

/** A row of a shorter prompt costs more, a single one as much as a decode step. */
const pieceRowsMeasured = 64;

/**
 * What steps cost on this machine and under its present load (R19): moving means by kind of step and number of rows. They decide sizes and
 * turns only, never a token.
 */
export class StepCosts {
  readonly #options: DecodeCostOptions;
  readonly #decode: DecodeCosts;
  #prefillRowMs: number | undefined;
  #shortRowMs: number | undefined;
  #stepMs: number | undefined;

  constructor(options: DecodeCostOptions) {
    this.#options = options;
    this.#decode = new DecodeCosts(options);
  }

  /** Mean of all steps; 0 before the first. */
  get stepMs(): number {
    return this.#stepMs ?? 0;
  }

  record({ prefillRows, decodeRows, embedRows }: MeasuredStep, elapsedMs: number): void {
    if (prefillRows + decodeRows === 0 || embedRows > 0) return;
    this.#stepMs = boundedMean(this.#stepMs, elapsedMs, this.#options);
    if (decodeRows > 0) this.#decode.record(decodeRows, elapsedMs);
    const rowMs = elapsedMs / prefillRows;
    if (prefillRows >= pieceRowsMeasured) this.#prefillRowMs = boundedMean(this.#prefillRowMs, rowMs, this.#options);
    else if (prefillRows > 0) this.#shortRowMs = boundedMean(this.#shortRowMs, rowMs, this.#options);
  }

  /** Costs beside a decode step of `decodeRows`. */
  figures(decodeRows: number): StepCostFigures {
    return { prefillRowMs: this.#prefillRowMs ?? this.#shortRowMs, decodeStepMs: this.#decode.stepMs(decodeRows) };
  }

  /** Of a decode step, for the choice of its rows: see DecodeCosts. */
  freshStepMs(rows: number): number | undefined {
    return this.#decode.freshStepMs(rows);
  }

  /** Of computing rows of a prompt, and rows of an answer in the smaller calls that rule R wants; undefined before the first measurement. */
  recomputeMs(promptRows: number, answerRows: number): number | undefined {
    const rowMs = this.#prefillRowMs ?? this.#shortRowMs;
    return rowMs === undefined ? undefined : promptRows * rowMs + answerRows * (this.#shortRowMs ?? rowMs);
  }
}
