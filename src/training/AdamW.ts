import { assert } from '../base/index.js';

/** What is trained: its values change in place. */
export interface Trained {
  readonly values: Float32Array;
  readonly gradient: Float32Array;
}

/** Running means of a tensor's gradient and of its square. */
export interface Moments {
  readonly first: Float32Array;
  readonly second: Float32Array;
}

const decay = { first: 0.9, second: 0.999, epsilon: 1e-8 } as const;

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter 2019) and a bound on the length of the whole gradient. Its state is the moments
 * and the number of steps; the same state and gradients give the same bits.
 */
export class AdamW {
  readonly moments: readonly Moments[];
  readonly #tensors: readonly Trained[];
  readonly #options: { readonly weightDecay: number; readonly gradientNormMax: number };

  constructor(tensors: readonly Trained[], options: { readonly weightDecay: number; readonly gradientNormMax: number }) {
    this.#tensors = tensors;
    this.#options = options;
    this.moments = tensors.map(({ values }) => ({ first: new Float32Array(values.length), second: new Float32Array(values.length) }));
  }

  /** Moves every value against its gradient. `step` counts from 0. */
  update(step: number, learningRate: number): void {
    assert(step >= 0 && learningRate >= 0, 'a step has a number and a rate', { step, learningRate });
    const norm = normOf(this.#tensors);
    const clip = norm > this.#options.gradientNormMax ? this.#options.gradientNormMax / norm : 1;
    // Means that start at 0 are too small at first.
    const firstShare = 1 - decay.first ** (step + 1);
    const secondShare = 1 - decay.second ** (step + 1);
    for (const [i, { values, gradient }] of this.#tensors.entries()) {
      const { first, second } = this.moments[i] as Moments;
      for (let k = 0; k < values.length; k++) {
        const slope = (gradient[k] as number) * clip;
        first[k] = decay.first * (first[k] as number) + (1 - decay.first) * slope;
        second[k] = decay.second * (second[k] as number) + (1 - decay.second) * slope * slope;
        const direction = (first[k] as number) / firstShare / (Math.sqrt((second[k] as number) / secondShare) + decay.epsilon);
        values[k] = (values[k] as number) * (1 - learningRate * this.#options.weightDecay) - learningRate * direction;
      }
    }
  }
}

const normOf = (tensors: readonly Trained[]): number => {
  let squares = 0;
  for (const { gradient } of tensors) for (const value of gradient) squares += value * value;
  return Math.sqrt(squares);
};
