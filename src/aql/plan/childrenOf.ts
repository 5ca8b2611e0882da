import type { PlanExpression } from './PlanExpression.js';

const present = (expressions: readonly (PlanExpression | undefined)[]): readonly PlanExpression[] =>
  expressions.filter((expression) => expression !== undefined);

/** The direct parts of an expression. */
export function childrenOf(expression: PlanExpression): readonly PlanExpression[] {
  switch (expression.kind) {
    case 'literal':
    case 'variable':
    case 'element':
      return [];
    case 'attribute':
      return [expression.source];
    case 'index':
      return [expression.source, expression.index];
    case 'expansion':
      return present([expression.source, expression.filter, expression.offset, expression.count, expression.projection, expression.tail]);
    case 'unary':
      return [expression.operand];
    case 'binary':
      return [expression.left, expression.right];
    case 'ternary':
      return present([expression.condition, expression.whenTrue, expression.whenFalse]);
    case 'range':
      return [expression.from, expression.to];
    case 'array':
      return expression.items;
    case 'object':
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case 'call':
      return expression.arguments;
  }
}
