import type { JsonValue } from '../../base/index.js';
import type { PlanExpression, VariableId } from './PlanExpression.js';

const literalCharactersMax = 60;

const shortened = (value: JsonValue): string => {
  const text = JSON.stringify(value);
  return text.length <= literalCharactersMax ? text : `${text.slice(0, literalCharactersMax)}…`;
};

/** An expression as AQL text for EXPLAIN; long literals are shortened, so that no vector or document fills the page. */
export function formatExpression(expression: PlanExpression, nameOf: (id: VariableId) => string): string {
  const format = (part: PlanExpression): string => formatExpression(part, nameOf);
  switch (expression.kind) {
    case 'literal':
      return shortened(expression.value);
    case 'variable':
      return nameOf(expression.id);
    case 'element':
      return 'CURRENT';
    case 'attribute':
      return `${format(expression.source)}.${expression.name}`;
    case 'index':
      return `${format(expression.source)}[${format(expression.index)}]`;
    case 'expansion':
      return `${format(expression.source)}[${'*'.repeat(expression.levels)} …]`;
    case 'unary':
      return `${expression.operator}${format(expression.operand)}`;
    case 'binary': {
      const operator = { AND: '&&', OR: '||' }[expression.operator as string] ?? expression.operator;
      const quantifier = expression.quantifier ? `${expression.quantifier.toUpperCase()} ` : '';
      return `(${format(expression.left)} ${quantifier}${operator} ${format(expression.right)})`;
    }
    case 'ternary':
      return `(${format(expression.condition)} ? ${expression.whenTrue ? format(expression.whenTrue) : ''} : ${format(expression.whenFalse)})`;
    case 'range':
      return `${format(expression.from)}..${format(expression.to)}`;
    case 'array':
      return `[${expression.items.map(format).join(', ')}]`;
    case 'object':
      return `{${expression.entries.map(({ key, value }) => `${format(key)}: ${format(value)}`).join(', ')}}`;
    case 'call':
      return `${expression.name}(${expression.arguments.map(format).join(', ')})`;
  }
}
