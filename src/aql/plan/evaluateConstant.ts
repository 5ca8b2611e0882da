import type { JsonValue } from '../../base/index.js';
import { aqlError } from '../errors.js';
import { compileExpression } from '../evaluation/compileExpression.js';
import type { EvaluationContext } from '../evaluation/EvaluationContext.js';
import { aqlLimits } from '../limits.js';
import { isDeterministic } from './isDeterministic.js';
import type { PlanExpression } from './PlanExpression.js';
import { variablesOf } from './usedVariables.js';

/** The value of an expression that reads no variable and neither time nor chance; undefined for any other. */
export function evaluateConstant(expression: PlanExpression): JsonValue | undefined {
  if (expression.kind === 'literal') return expression.value;
  if (variablesOf(expression).size > 0 || !isDeterministic(expression)) return undefined;
  return compileExpression(expression)([], constantContext());
}

/** A constant is evaluated while planning, where no query's limits hold yet. */
function constantContext(): EvaluationContext {
  let cost = 0;
  const spend = (count: number): void => {
    cost += count;
    if (cost > aqlLimits.constantCostMax)
      throw aqlError('AQL_OPTION_INVALID', `an option's value takes more than ${aqlLimits.constantCostMax} steps or bytes to work out`);
  };
  return {
    nowMs: 0,
    random: () => 0,
    warn: () => undefined,
    step: spend,
    allocate: spend,
    memoryLimitBytes: aqlLimits.constantCostMax,
    scratch: [],
  };
}
