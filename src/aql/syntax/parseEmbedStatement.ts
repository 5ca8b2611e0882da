import type { EmbedRowsOperation, Expression } from './Ast.js';
import type { UnaryReader } from './parseModelCall.js';
import type { TokenCursor } from './TokenCursor.js';

/** What the statement reads through: the parsers of expressions and of collection names. */
export interface EmbedStatementReader extends UnaryReader {
  parse(): Expression;
  parseCollectionName(): Expression;
}

/** Whether `LLM EMBED 'm' FOR` begins here: a text to embed never begins with FOR, so that the call `LLM EMBED 'm' text` is another thing. */
export const startsEmbedStatement = (cursor: TokenCursor): boolean => {
  const isHead = cursor.peek().kind === 'name' && cursor.isWord('LLM') && cursor.peek(1).kind === 'name' && cursor.isWord('EMBED', 1);
  const model = cursor.peek(2).kind;
  return isHead && (model === 'string' || model === 'bind') && cursor.isKeyword('FOR', 3);
};

/** `LLM EMBED model FOR d IN collection FROM text INTO attribute [OPTIONS {…}]` (R28). */
export function parseEmbedStatement(cursor: TokenCursor, reader: EmbedStatementReader): EmbedRowsOperation {
  const { start: at } = cursor.next();
  cursor.next();
  const model = reader.parseUnary();
  cursor.expectWord('FOR');
  const name = cursor.expectName('a variable name after FOR');
  cursor.expectWord('IN');
  const collection = reader.parseCollectionName();
  cursor.expectWord('FROM');
  const source = reader.parse();
  cursor.expectWord('INTO');
  const into = parseAttribute(cursor);
  const options = cursor.acceptWord('OPTIONS') && { options: reader.parseObject() };
  return { kind: 'embedRows', at, model, variable: String(name.value), variableAt: name.start, collection, source, into, ...options };
}

function parseAttribute(cursor: TokenCursor): Expression {
  const { kind, start: at, value } = cursor.peek();
  if (kind !== 'name' && kind !== 'string' && kind !== 'bind') throw cursor.unexpected(['the name of an attribute after INTO']);
  cursor.next();
  return kind === 'bind' ? { kind, at, name: String(value) } : { kind: 'literal', at, value: String(value) };
}
