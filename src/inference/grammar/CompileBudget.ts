import { inferenceError } from '../errors.js';
import type { GrammarOptions } from './options.js';

type Bound =
  | 'sourceBytesMax'
  | 'nestingMax'
  | 'rulesMax'
  | 'nodesMax'
  | 'compileStepsMax'
  | 'stackDepthMax'
  | 'configurationsMax'
  | 'stepWorkMax';

/** What one compilation has used of its bounds. Errors: CONSTRAINT_TOO_LARGE, which names the option. */
export class CompileBudget {
  readonly options: GrammarOptions;
  #steps = 0;

  constructor(options: GrammarOptions) {
    this.options = options;
  }

  check(bound: Bound, used: number): void {
    const max = this.options[bound];
    if (used <= max) return;
    throw inferenceError('CONSTRAINT_TOO_LARGE', `the constraint goes beyond ${bound} = ${max}`, { data: { bound, max } });
  }

  step(count = 1): void {
    this.#steps += count;
    this.check('compileStepsMax', this.#steps);
  }
}
