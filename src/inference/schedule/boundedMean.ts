import { movingMean } from '../../base/index.js';
import type { InferenceOptions } from '../options.js';

export type MeanOptions = Pick<InferenceOptions, 'stepCostWeight' | 'stepCostGrowthMax'>;

/**
 * A moving mean after one more value. A value far above it counts only as a bounded multiple: a process that stood still for a second in
 * the middle of a step has learnt nothing about steps, while a machine that became slower shows it in each of them.
 */
export function boundedMean(before: number | undefined, value: number, options: MeanOptions): number {
  const bounded = before === undefined ? value : Math.min(value, before * options.stepCostGrowthMax);
  return movingMean(before, bounded, options.stepCostWeight);
}
