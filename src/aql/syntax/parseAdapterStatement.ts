import type { AdapterOperation, Expression } from './Ast.js';
import type { UnaryReader } from './parseModelCall.js';
import type { TokenCursor } from './TokenCursor.js';

const actions = ['LIST', 'LOAD', 'UNLOAD'] as const;
type Action = (typeof actions)[number];

type Tail = { -readonly [Name in 'domain' | 'shard' | 'options']?: Expression };
const tailWords: { readonly [Name in Action]: readonly ('DOMAIN' | 'SHARD' | 'OPTIONS')[] } = {
  LIST: [],
  LOAD: ['DOMAIN', 'SHARD', 'OPTIONS'],
  UNLOAD: ['SHARD'],
};

/** Whether `LLM ADAPTER` begins here: a statement where a query begins, where no name ever stood in AQL. */
export const startsAdapterStatement = (cursor: TokenCursor): boolean =>
  cursor.peek().kind === 'name' && cursor.isWord('LLM') && cursor.peek(1).kind === 'name' && cursor.isWord('ADAPTER', 1);

/** `LLM ADAPTER LIST`, `LLM ADAPTER LOAD path DOMAIN name [SHARD id] [OPTIONS {…}]`, `LLM ADAPTER UNLOAD name [SHARD id]` (R21). */
export function parseAdapterStatement(cursor: TokenCursor, reader: UnaryReader): AdapterOperation {
  const { start: at } = cursor.next();
  cursor.next();
  const action = actions.find((word) => cursor.isWord(word));
  if (action === undefined) throw cursor.unexpected(actions);
  cursor.next();
  const subject = action === 'LIST' ? {} : { subject: reader.parseUnary() };
  const tail = parseTail(cursor, reader, action);
  if (action === 'LOAD' && tail.domain === undefined) throw cursor.unexpected(['DOMAIN']);
  return { kind: 'adapter', at, action: action.toLowerCase() as Lowercase<Action>, ...subject, ...tail };
}

function parseTail(cursor: TokenCursor, reader: UnaryReader, action: Action): Tail {
  const tail: Tail = {};
  while (true) {
    const word = tailWords[action].find((candidate) => cursor.isWord(candidate));
    if (word === undefined) return tail;
    const { start } = cursor.next();
    const name = word.toLowerCase() as Lowercase<typeof word>;
    if (tail[name] !== undefined) throw cursor.failAt(start, `${word} is given twice`);
    tail[name] = word === 'OPTIONS' ? reader.parseObject() : reader.parseUnary();
  }
}
