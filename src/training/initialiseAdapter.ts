import type { TrainableTensor } from '../platform/index.js';
import { SeededNumbers } from './SeededNumbers.js';

const startUse = 2;

/**
 * Start of an adapter: the input matrix evenly within ±1/√columns, the output matrix 0, so that training begins at the base model. Each
 * tensor draws numbers of its own.
 */
export function initialiseAdapter(tensors: readonly TrainableTensor[], seed: number): void {
  for (const [index, { name, columns, values }] of tensors.entries()) {
    const bound = name.endsWith('.lora_a') ? 1 / Math.sqrt(columns) : 0;
    const numbers = new SeededNumbers(seed, startUse, index);
    for (let i = 0; i < values.length; i++) values[i] = (2 * numbers.next() - 1) * bound;
  }
}
