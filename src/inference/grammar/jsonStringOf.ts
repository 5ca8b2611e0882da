import { assertNever } from '../../base/index.js';
import { codePoints } from './codePoints.js';
import { type Expression, expr, type Range } from './Expression.js';
import { plainStringChars } from './jsonRules.js';

/** The JSON strings, quotes included, whose value an expression matches. What must be escaped has one form, that of JSON.stringify. */
export function jsonStringOf(expression: Expression): Expression {
  return expr.sequence(expr.text('"'), written(expression), expr.text('"'));
}

function written(expression: Expression): Expression {
  switch (expression.kind) {
    case 'chars':
      return writtenChars(expression.ranges);
    case 'text':
      return expr.text(JSON.stringify(expression.text).slice(1, -1));
    case 'sequence':
      return { ...expression, parts: expression.parts.map(written) };
    case 'choice':
      return { ...expression, alternatives: expression.alternatives.map(written) };
    case 'repeat':
      return { ...expression, of: written(expression.of) };
    case 'bytes':
    case 'rule':
      return expression;
    default:
      return assertNever(expression);
  }
}

function writtenChars(ranges: readonly Range[]): Expression {
  const plain = codePoints.without(ranges, codePoints.complement(plainStringChars));
  const alternatives = plain.length > 0 ? [expr.chars(...plain)] : [];
  for (let point = 0; point <= 92; point++) {
    if (!codePoints.contains(ranges, point) || codePoints.contains(plainStringChars, point)) continue;
    alternatives.push(expr.text(JSON.stringify(String.fromCodePoint(point)).slice(1, -1)));
  }
  return expr.choice(...alternatives);
}
