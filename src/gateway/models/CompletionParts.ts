import type { ClusterModelService } from '../../cooperation/index.js';
import type { Clock, Random } from '../../platform/index.js';
import type { CompletionLimits } from './CompletionLimits.js';

/** What the routes of completions are made of. */
export interface CompletionParts {
  readonly models: ClusterModelService;
  readonly clock: Clock;
  readonly random: Random;
  readonly timeoutMs: number;
  /** A stream that is silent for so long gets a comment. */
  readonly pingMs: number;
  readonly limits: CompletionLimits;
}
