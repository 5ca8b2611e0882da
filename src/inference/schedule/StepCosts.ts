import type { InferenceOptions } from '../options.js';

/** Milliseconds that the work of a step takes, as measured; undefined before the first measurement. */
export interface StepCostFigures {
  /** Of one row of a prompt, in pieces of 64 rows and more where there were such. */
  readonly prefillRowMs: number | undefined;
  /** Of a decode step of about so many rows as asked for. */
  readonly decodeStepMs: number | undefined;
}

interface MeasuredStep {
  readonly prefillRows: number;
  readonly decodeRows: number;
  readonly embedRows: number;
}

/** A row of a shorter prompt costs more, a single one as much as a decode step. */
const pieceRowsMeasured = 64;

/** Steps of like size share a mean: 1, 2, 3–4, 5–8, 9–16 rows and so on. */
const bucketOf = (rows: number): number => Math.ceil(Math.log2(Math.max(1, rows)));

/**
 * What steps cost on this machine and under its present load (R19): moving means by kind of step and number of rows. They decide sizes and
 * turns only, never a token.
 */
export class StepCosts {
  readonly #weight: number;
  readonly #decodeStepMs: (number | undefined)[] = [];
  #prefillRowMs: number | undefined;
  #shortRowMs: number | undefined;
  #stepMs: number | undefined;

  constructor(options: Pick<InferenceOptions, 'stepCostWeight'>) {
    this.#weight = options.stepCostWeight;
  }

  /** Mean of all steps; 0 before the first. */
  get stepMs(): number {
    return this.#stepMs ?? 0;
  }

  record({ prefillRows, decodeRows, embedRows }: MeasuredStep, elapsedMs: number): void {
    if (prefillRows + decodeRows === 0 || embedRows > 0) return;
    this.#stepMs = this.#mean(this.#stepMs, elapsedMs);
    if (prefillRows >= pieceRowsMeasured) this.#prefillRowMs = this.#mean(this.#prefillRowMs, elapsedMs / prefillRows);
    else if (prefillRows > 0) this.#shortRowMs = this.#mean(this.#shortRowMs, elapsedMs / prefillRows);
    if (decodeRows === 0) return;
    const bucket = bucketOf(decodeRows);
    this.#decodeStepMs[bucket] = this.#mean(this.#decodeStepMs[bucket], elapsedMs);
  }

  /** Costs beside a decode step of `decodeRows`: of steps that big, else of the next bigger or, failing those, smaller ones. */
  figures(decodeRows: number): StepCostFigures {
    const bucket = bucketOf(decodeRows);
    const bigger = this.#decodeStepMs.slice(bucket).find((stepMs) => stepMs !== undefined);
    const decodeStepMs = bigger ?? this.#decodeStepMs.slice(0, bucket).findLast((stepMs) => stepMs !== undefined);
    return { prefillRowMs: this.#prefillRowMs ?? this.#shortRowMs, decodeStepMs };
  }

  /** Of computing rows of a prompt, and rows of an answer in the smaller calls that rule R wants; undefined before the first measurement. */
  recomputeMs(promptRows: number, answerRows: number): number | undefined {
    const rowMs = this.#prefillRowMs ?? this.#shortRowMs;
    return rowMs === undefined ? undefined : promptRows * rowMs + answerRows * (this.#shortRowMs ?? rowMs);
  }

  #mean(before: number | undefined, value: number): number {
    return before === undefined ? value : before + (value - before) * this.#weight;
  }
}
