import { assertNever } from '../../base/index.js';
import type { Expression, Rules } from './Expression.js';

/** The rules under names of their own, so that several grammars fit into one. The rules of JSON are the same in all and keep theirs. */
export function prefixRules(rules: Rules, prefix: string): Rules {
  const named = (name: string): string => (name.startsWith('json.') ? name : `${prefix}${name}`);
  const renamed = (expression: Expression): Expression => {
    switch (expression.kind) {
      case 'rule':
        return { kind: 'rule', name: named(expression.name) };
      case 'sequence':
        return { kind: 'sequence', parts: expression.parts.map(renamed) };
      case 'choice':
        return { kind: 'choice', alternatives: expression.alternatives.map(renamed) };
      case 'repeat':
        return { ...expression, of: renamed(expression.of) };
      case 'bytes':
      case 'chars':
      case 'text':
        return expression;
      default:
        return assertNever(expression);
    }
  };
  return new Map([...rules].map(([name, expression]) => [named(name), renamed(expression)]));
}
