import type { ExpansionExpression, Expression } from './Ast.js';
import { notSupported } from './notSupported.js';
import type { TokenCursor } from './TokenCursor.js';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Accessors behind an operand: `.name`, `.@bind`, `[expression]` and the expansions `[*]`, `[**]`, `[* FILTER … LIMIT … RETURN …]`. */
export function parsePostfix(cursor: TokenCursor, operand: Expression, parseExpression: () => Expression): Expression {
  let source = operand;
  while (true) {
    if (cursor.isOperator('.')) source = parseAttribute(cursor, source);
    else if (!cursor.isOperator('[')) return source;
    else if (cursor.isOperator('*', 1)) return parseExpansion(cursor, source, parseExpression);
    else source = parseIndex(cursor, source, parseExpression);
  }
}

function parseAttribute(cursor: TokenCursor, source: Expression): Expression {
  cursor.next();
  const token = cursor.peek();
  const at = source.at;
  if (token.kind === 'bind') return { kind: 'attributeBind', at, source, bind: String(cursor.next().value) };
  if (token.kind !== 'name' && token.kind !== 'keyword') throw cursor.unexpected(['an attribute name after the point']);
  return { kind: 'attribute', at, source, name: String(cursor.next().value) };
}

function parseIndex(cursor: TokenCursor, source: Expression, parseExpression: () => Expression): Expression {
  const { start } = cursor.next();
  if (cursor.isOperator('?')) throw notSupported({ text: cursor.text, at: start }, 'the question mark operator [? …]', 'R13');
  const index = parseExpression();
  if (!cursor.isOperator(']')) throw cursor.unexpected(["']'", 'an operator']);
  cursor.next();
  return { kind: 'index', at: source.at, source, index };
}

/** What follows the brackets applies to every element, so it becomes the `tail` over an `element`. */
function parseExpansion(cursor: TokenCursor, source: Expression, parseExpression: () => Expression): Expression {
  const { start } = cursor.next();
  let levels = 0;
  while (cursor.acceptOperator('*')) levels++;
  const inline = parseInline(cursor, parseExpression);
  cursor.expectOperator(']');
  const tail = parsePostfix(cursor, { kind: 'element', at: start }, parseExpression);
  return { kind: 'expansion', at: source.at, source, levels, ...inline, tail };
}

function parseInline(cursor: TokenCursor, parseExpression: () => Expression): Partial<ExpansionExpression> {
  const inline: Partial<Mutable<ExpansionExpression>> = {};
  if (cursor.acceptWord('FILTER')) inline.filter = parseExpression();
  if (cursor.acceptWord('LIMIT')) {
    const first = parseExpression();
    inline.limit = cursor.acceptOperator(',') ? { offset: first, count: parseExpression() } : { count: first };
  }
  if (cursor.acceptWord('RETURN')) inline.projection = parseExpression();
  if (!cursor.isOperator(']')) throw cursor.unexpected(["']'", 'FILTER', 'LIMIT', 'RETURN']);
  return inline;
}
