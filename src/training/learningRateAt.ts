import type { TrainingOptions } from './options.js';

/** Rate of step `step` (from 0): a straight rise over the warm-up, along a cosine that reaches 0 after the last step. */
export function learningRateAt(step: number, options: Pick<TrainingOptions, 'learningRate' | 'warmupSteps' | 'steps'>): number {
  const { learningRate, warmupSteps, steps } = options;
  const rise = Math.min(1, (step + 1) / Math.max(1, warmupSteps));
  return learningRate * rise * (0.5 + 0.5 * Math.cos((Math.PI * step) / steps));
}
