import type { CollectOperation } from './Ast.js';
import type { ExpressionParser } from './ExpressionParser.js';
import type { TokenCursor } from './TokenCursor.js';

/** COLLECT without its OPTIONS: groups, AGGREGATE, INTO with projection or KEEP, WITH COUNT INTO; each part is optional but one. */
export function parseCollect(cursor: TokenCursor, expressions: ExpressionParser): CollectOperation {
  const at = cursor.next().start;
  const groups = parseGroups(cursor, expressions);
  const aggregates = cursor.acceptWord('AGGREGATE') ? parseAggregates(cursor, expressions) : [];
  const into = cursor.acceptWord('INTO') ? parseInto(cursor, expressions) : undefined;
  const count = cursor.isKeyword('WITH') && cursor.isWord('COUNT', 1) ? parseCount(cursor) : undefined;
  if (groups.length + aggregates.length === 0 && !count && !into)
    throw cursor.unexpected(['a variable name', 'AGGREGATE', 'INTO', 'WITH COUNT INTO']);
  return { kind: 'collect', at, groups, aggregates, ...(into && { into }), ...(count && { count }) };
}

function parseGroups(cursor: TokenCursor, expressions: ExpressionParser): CollectOperation['groups'] {
  if (cursor.peek().kind === 'keyword') return [];
  return parseAssignments(cursor, () => expressions.parse()).map(({ value, ...name }) => ({ ...name, expression: value }));
}

function parseAssignments<Value>(cursor: TokenCursor, parseValue: () => Value): { variable: string; at: number; value: Value }[] {
  const assignments = [];
  do {
    const name = cursor.expectName('a variable name');
    cursor.expectOperator('=');
    assignments.push({ variable: String(name.value), at: name.start, value: parseValue() });
  } while (cursor.acceptOperator(','));
  return assignments;
}

function parseAggregates(cursor: TokenCursor, expressions: ExpressionParser): CollectOperation['aggregates'] {
  const assignments = parseAssignments(cursor, () => {
    const at = cursor.peek().start;
    const value = expressions.parse();
    if (value.kind !== 'call')
      throw cursor.failAt(at, 'unexpected expression in AGGREGATE', { expected: ['a call of one aggregate function'] });
    return value;
  });
  return assignments.map(({ variable, value }) => ({ variable, at: value.at, function: value.name, arguments: value.arguments }));
}

function parseInto(cursor: TokenCursor, expressions: ExpressionParser): NonNullable<CollectOperation['into']> {
  const name = cursor.expectName('a variable name after INTO');
  const into = { variable: String(name.value), at: name.start };
  if (cursor.acceptOperator('=')) return { ...into, projection: expressions.parse() };
  if (!cursor.acceptWord('KEEP')) return into;
  const keep: string[] = [];
  do keep.push(String(cursor.expectName('a variable name after KEEP').value));
  while (cursor.acceptOperator(','));
  return { ...into, keep };
}

function parseCount(cursor: TokenCursor): NonNullable<CollectOperation['count']> {
  cursor.next();
  cursor.next();
  cursor.expectWord('INTO');
  const name = cursor.expectName('a variable name after WITH COUNT INTO');
  return { variable: String(name.value), at: name.start };
}
