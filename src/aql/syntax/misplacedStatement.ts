import type { OstrakaError } from '../../base/index.js';
import { aqlErrorAt } from './aqlErrorAt.js';
import { startsAdapterStatement } from './parseAdapterStatement.js';
import { startsEmbedStatement } from './parseEmbedStatement.js';
import type { TokenCursor } from './TokenCursor.js';

/** What a statement inside another query is refused with; undefined where none begins. */
export function misplacedStatement(cursor: TokenCursor): OstrakaError | undefined {
  const name = startsAdapterStatement(cursor) ? 'LLM ADAPTER' : startsEmbedStatement(cursor) ? 'LLM EMBED … FOR' : undefined;
  if (name === undefined) return undefined;
  const place = { text: cursor.text, at: cursor.peek().start };
  return aqlErrorAt('AQL_STATEMENT_MISPLACED', place, `${name} is a statement and no part of a query: it stands alone,`);
}
