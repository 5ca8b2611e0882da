import type { InferenceOptions } from '../options.js';
import { boundedMean, type MeanOptions } from './boundedMean.js';
import { costBetween, type KnownCost } from './costBetween.js';

export type DecodeCostOptions = MeanOptions & Pick<InferenceOptions, 'stepCostFreshSteps'>;

interface MeasuredCost extends KnownCost {
  /** Number of the newest step of so many rows. */
  readonly step: number;
}

/**
 * What decode steps cost by their number of rows, as measured here: a moving mean each. The number is taken exactly, since costs go by
 * jumps: the kernels compute four rows together, and two for more than twice the price of one.
 */
export class DecodeCosts {
  readonly #options: DecodeCostOptions;
  readonly #costs = new Map<number, MeasuredCost>();
  #steps = 0;

  constructor(options: DecodeCostOptions) {
    this.#options = options;
  }

  record(rows: number, elapsedMs: number): void {
    this.#steps++;
    const { stepCostGrowthMax } = this.#options;
    const expected = this.stepMs(rows) ?? elapsedMs;
    const ms = this.#costs.has(rows) ? boundedMean(expected, elapsedMs, this.#options) : Math.min(elapsedMs, expected * stepCostGrowthMax);
    this.#costs.set(rows, { rows, ms, step: this.#steps });
  }

  /** Of a step of so many rows, between what the nearest ones cost where there was none; undefined before the first measurement. */
  stepMs(rows: number): number | undefined {
    return costBetween([...this.#costs.values()], rows);
  }

  /**
   * The same by the newest steps alone: whoever chooses among numbers of rows by this figure comes back to one that has not been tried for
   * long, as if it were new, and so never keeps away from it for one bad measurement.
   */
  freshStepMs(rows: number): number | undefined {
    const oldest = this.#steps - this.#options.stepCostFreshSteps;
    return costBetween(
      [...this.#costs.values()].filter(({ step }) => step > oldest),
      rows,
    );
  }
}
