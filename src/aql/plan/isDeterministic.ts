import { functionTable } from '../functions/functionTable.js';
import { childrenOf } from './childrenOf.js';
import type { PlanExpression } from './PlanExpression.js';

/** Whether an expression gives the same value each time: it may then move. */
export function isDeterministic(expression: PlanExpression): boolean {
  if (expression.kind === 'call' && functionTable.get(expression.name)?.deterministic !== true) return false;
  return childrenOf(expression).every(isDeterministic);
}
