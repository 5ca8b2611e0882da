import type { BinaryOperator } from './Ast.js';

/**
 * Binding powers, low to high, as in ArangoDB: `? :` < OR < AND < equality, LIKE, regex < IN < relational < `..` < sums < products <
 * unary (`! + - NOT`). Unlike in JavaScript, relational operators bind tighter than IN, and IN tighter than `==`.
 */
export const infixOperators: { readonly [written: string]: { readonly operator: BinaryOperator | '..'; readonly power: number } } = {
  OR: { operator: 'OR', power: 2 },
  '||': { operator: 'OR', power: 2 },
  AND: { operator: 'AND', power: 3 },
  '&&': { operator: 'AND', power: 3 },
  '==': { operator: '==', power: 4 },
  '!=': { operator: '!=', power: 4 },
  LIKE: { operator: 'LIKE', power: 4 },
  'NOT LIKE': { operator: 'NOT LIKE', power: 4 },
  '=~': { operator: '=~', power: 4 },
  '!~': { operator: '!~', power: 4 },
  IN: { operator: 'IN', power: 5 },
  'NOT IN': { operator: 'NOT IN', power: 5 },
  '<': { operator: '<', power: 6 },
  '<=': { operator: '<=', power: 6 },
  '>': { operator: '>', power: 6 },
  '>=': { operator: '>=', power: 6 },
  '..': { operator: '..', power: 7 },
  '+': { operator: '+', power: 8 },
  '-': { operator: '-', power: 8 },
  '*': { operator: '*', power: 9 },
  '/': { operator: '/', power: 9 },
  '%': { operator: '%', power: 9 },
};

/** The power of `? :`, below every infix operator. */
export const ternaryPower = 1;

/** Operators that ALL, ANY, NONE and AT LEAST may stand before. */
export const quantifiableOperators: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'IN', 'NOT IN']);
