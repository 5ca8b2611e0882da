/** An exponential moving mean after one more value, which has this weight; the first value is the mean. */
export const movingMean = (before: number | undefined, value: number, weight: number): number =>
  before === undefined ? value : before + (value - before) * weight;
