import { assertNever, compareValues, type JsonValue } from '../../base/index.js';
import type { BinaryOperator } from '../syntax/Ast.js';
import type { EvaluationContext } from './EvaluationContext.js';
import { equalValues } from './equalValues.js';
import { compilePattern, matchesLike } from './textPatterns.js';
import { toNumber } from './toNumber.js';
import { toText } from './toText.js';
import { isArray } from './valueKinds.js';

export type StrictOperator = Exclude<BinaryOperator, 'AND' | 'OR'>;

const finite = (value: number, context: EvaluationContext): JsonValue => {
  if (Number.isFinite(value)) return value;
  context.warn(1504, 'number out of range');
  return null;
};

const divided = (
  divide: (left: number, right: number) => number,
  values: readonly [JsonValue, JsonValue],
  context: EvaluationContext,
): JsonValue => {
  const [left, right] = [toNumber(values[0]), toNumber(values[1])];
  if (right !== 0) return finite(divide(left, right), context);
  context.warn(1562, 'division by zero');
  return null;
};

const isIn = (value: JsonValue, list: JsonValue): boolean => isArray(list) && list.some((item) => equalValues(value, item));

const matchesRegex = (left: JsonValue, right: JsonValue, context: EvaluationContext): boolean =>
  compilePattern(toText(right), false, context)?.test(toText(left)) ?? false;

/** An operator that needs both its operands. Comparison never gives null; arithmetic converts as TO_NUMBER does. */
export function applyBinary(operator: StrictOperator, left: JsonValue, right: JsonValue, context: EvaluationContext): JsonValue {
  switch (operator) {
    case '==':
      return equalValues(left, right);
    case '!=':
      return !equalValues(left, right);
    case '<':
      return compareValues(left, right) < 0;
    case '<=':
      return compareValues(left, right) <= 0;
    case '>':
      return compareValues(left, right) > 0;
    case '>=':
      return compareValues(left, right) >= 0;
    case 'IN':
      return isIn(left, right);
    case 'NOT IN':
      return !isIn(left, right);
    case 'LIKE':
      return matchesLike(toText(left), toText(right), false, context);
    case 'NOT LIKE':
      return !matchesLike(toText(left), toText(right), false, context);
    case '=~':
      return matchesRegex(left, right, context);
    case '!~':
      return !matchesRegex(left, right, context);
    case '+':
      return finite(toNumber(left) + toNumber(right), context);
    case '-':
      return finite(toNumber(left) - toNumber(right), context);
    case '*':
      return finite(toNumber(left) * toNumber(right), context);
    case '/':
      return divided((a, b) => a / b, [left, right], context);
    case '%':
      return divided((a, b) => a % b, [left, right], context);
    default:
      return assertNever(operator);
  }
}
