import type { JsonValue } from '../../base/index.js';
import { demandDepth } from './demandDepth.js';
import type { EvaluationContext } from './EvaluationContext.js';
import { textSteps } from './textSteps.js';

/**
 * Counts the work of walking a value to its leaves, before it is done. Values share their parts, so that a short expression can make a
 * value of more leaves than memory could hold: whoever walks a value counts first. Errors: AQL_NESTING_TOO_DEEP.
 */
export function countNodes(value: JsonValue, context: EvaluationContext, depth = 1): void {
  if (typeof value === 'string') context.step(textSteps.ofCopy(value.length));
  if (typeof value !== 'object' || value === null) return;
  demandDepth(depth);
  const items = Array.isArray(value) ? value : Object.values(value);
  context.step(1 + items.length);
  for (const item of items) countNodes(item as JsonValue, context, depth + 1);
}
