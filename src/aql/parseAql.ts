import { aqlError } from './errors.js';
import { aqlLimits } from './limits.js';
import type { Ast, Expression, Operation } from './syntax/Ast.js';
import { aqlErrorAt } from './syntax/aqlErrorAt.js';
import { notSupported } from './syntax/notSupported.js';
import { OperationParser } from './syntax/OperationParser.js';
import { TokenCursor } from './syntax/TokenCursor.js';

/**
 * Parses one query into its syntax tree (R13, with INFER and EMBED of R14). Pure syntax: names are resolved by `planQuery`.
 * Errors: AQL_PARSE (line, column, near, expected), AQL_EMPTY, AQL_TOO_LONG, AQL_NESTING_TOO_DEEP, and NOT_SUPPORTED for constructs
 * that are AQL but absent here.
 */
export function parseAql(text: string): Ast {
  const cursor = new TokenCursor(text);
  if (cursor.peek().kind === 'end') throw aqlError('AQL_EMPTY', 'the query is empty', { data: { line: 1, column: 1 } });
  refuseAdministration(cursor);
  const parser = new OperationParser(cursor);
  const withCollections = parseWith(cursor, parser);
  const operations = withCollections.length > 0 ? parser.parseOperations() : parser.parseQuery();
  if (cursor.peek().kind !== 'end') throw cursor.unexpected([...(isStatement(operations) ? [] : ['an operator']), 'the end of the query']);
  const ast = { text, operations, bindParameters: [...cursor.bindParameters], withCollections };
  checkDepth(ast);
  return ast;
}

const isStatement = ([first]: readonly Operation[]): boolean => first?.kind === 'adapter' || first?.kind === 'embedRows';

function parseWith(cursor: TokenCursor, parser: OperationParser): readonly Expression[] {
  if (!cursor.acceptWord('WITH')) return [];
  const collections = [parser.parseCollectionName()];
  while (cursor.acceptOperator(',')) collections.push(parser.parseCollectionName());
  return collections;
}

/** `LLM MODEL LIST` and its kin are statements only as first words of a query; those of adapters exist. */
function refuseAdministration(cursor: TokenCursor): void {
  if (!cursor.isWord('LLM')) return;
  const { word } = cursor.peek(1);
  if (!['MODEL', 'STATS', 'CACHE'].includes(word)) return;
  throw notSupported({ text: cursor.text, at: cursor.peek().start }, `the statement LLM ${word}`, 'R14');
}

/** The parser bounds its own recursion; chains such as `a + b + …` nest to the left without recursion and are measured here. */
function checkDepth(ast: Ast): void {
  const pending: { readonly node: unknown; readonly depth: number }[] = [{ node: ast.operations, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node } = next;
    if (typeof node !== 'object' || node === null) continue;
    const depth = next.depth + ('kind' in node && 'at' in node ? 1 : 0);
    if (depth > aqlLimits.nestingMax) {
      const at = 'at' in node ? Number(node.at) : 0;
      throw aqlErrorAt('AQL_NESTING_TOO_DEEP', { text: ast.text, at }, `nested deeper than ${aqlLimits.nestingMax} levels`);
    }
    for (const child of Object.values(node)) pending.push({ node: child, depth });
  }
}
