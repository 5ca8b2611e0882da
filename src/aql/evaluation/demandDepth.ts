import { aqlError } from '../errors.js';
import { aqlLimits } from '../limits.js';

/** Error AQL_NESTING_TOO_DEEP below the deepest level that a value may have. */
export function demandDepth(depth: number): void {
  if (depth > aqlLimits.valueDepthMax)
    throw aqlError('AQL_NESTING_TOO_DEEP', `a value is nested deeper than ${aqlLimits.valueDepthMax} levels`);
}
