import type { JsonValue } from '../../base/index.js';
import { compileExpression } from '../evaluation/compileExpression.js';
import { isDeterministic } from './isDeterministic.js';
import type { PlanExpression } from './PlanExpression.js';
import { variablesOf } from './usedVariables.js';

/** The value of an expression that reads no variable and neither time nor chance; undefined for any other. */
export function evaluateConstant(expression: PlanExpression): JsonValue | undefined {
  if (expression.kind === 'literal') return expression.value;
  if (variablesOf(expression).size > 0 || !isDeterministic(expression)) return undefined;
  return compileExpression(expression)([], { nowMs: 0, random: () => 0, warn: () => undefined, step: () => undefined, scratch: [] });
}
