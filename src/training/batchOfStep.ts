import { SeededNumbers } from './SeededNumbers.js';

const orderUse = 1;

/**
 * Which examples step `step` (from 0) trains on: every epoch goes through all of them once in an order of its own, the last batch of an
 * epoch being what is left. A function of its arguments alone, so that a run goes on anywhere as if it had never stopped.
 */
export function batchOfStep(request: {
  readonly seed: number;
  readonly step: number;
  readonly batch: number;
  readonly examples: number;
}): readonly number[] {
  const { seed, step, batch, examples } = request;
  const stepsOfEpoch = Math.ceil(examples / batch);
  const from = (step % stepsOfEpoch) * batch;
  return shuffled(examples, new SeededNumbers(seed, orderUse, Math.floor(step / stepsOfEpoch))).slice(from, from + batch);
}

/** Fisher–Yates. */
const shuffled = (count: number, numbers: SeededNumbers): number[] => {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(numbers.next() * (i + 1));
    [order[i], order[j]] = [order[j] as number, order[i] as number];
  }
  return order;
};
