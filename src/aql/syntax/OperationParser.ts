import type { OstrakaError } from '../../base/index.js';
import type { CollectOperation, Expression, ModificationOperation, Operation } from './Ast.js';
import { ExpressionParser } from './ExpressionParser.js';
import { misplacedStatement } from './misplacedStatement.js';
import { notSupported } from './notSupported.js';
import { parseAdapterStatement, startsAdapterStatement } from './parseAdapterStatement.js';
import { parseCollect } from './parseCollect.js';
import { parseEmbedStatement, startsEmbedStatement } from './parseEmbedStatement.js';
import { isModelCall } from './parseModelCall.js';
import type { TokenCursor } from './TokenCursor.js';

const operationStarts = ['FOR', 'FILTER', 'LET', 'SORT', 'LIMIT', 'COLLECT', 'INSERT', 'UPDATE', 'REPLACE', 'REMOVE', 'RETURN'];
const pathWords = ['SHORTEST_PATH', 'K_SHORTEST_PATHS', 'ALL_SHORTEST_PATHS', 'K_PATHS'];

/** Operations in sequence, up to and with the RETURN or data modification that ends a query. */
export class OperationParser {
  readonly #cursor: TokenCursor;
  readonly #expressions: ExpressionParser;

  constructor(cursor: TokenCursor) {
    this.#cursor = cursor;
    this.#expressions = new ExpressionParser(cursor, () => this.parseOperations());
  }

  /** A query: a statement alone, or operations. */
  parseQuery(): readonly Operation[] {
    if (startsAdapterStatement(this.#cursor)) return [parseAdapterStatement(this.#cursor, this.#expressions)];
    return startsEmbedStatement(this.#cursor) ? [this.#parseEmbedStatement()] : this.parseOperations();
  }

  #parseEmbedStatement(): Operation {
    const expressions = this.#expressions;
    return parseEmbedStatement(this.#cursor, {
      parse: () => expressions.parse(),
      parseUnary: () => expressions.parseUnary(),
      parseObject: () => expressions.parseObject(),
      parseCollectionName: () => this.parseCollectionName(),
    });
  }

  parseOperations(): readonly Operation[] {
    const operations: Operation[] = [];
    while (operations.at(-1)?.kind !== 'return') {
      const parsed = this.#parseOperation();
      if (parsed === undefined) break;
      operations.push(...parsed);
    }
    const last = operations.at(-1)?.kind;
    if (last === 'return' || last === 'modification') return operations;
    throw this.#incomplete(operations.length > 0);
  }

  #incomplete(started: boolean): OstrakaError {
    const { kind, text } = this.#cursor.peek();
    if (started && (kind === 'end' || text === ')'))
      return this.#cursor.failAt(this.#cursor.peek().start, 'the query ends without RETURN', {
        expected: ['RETURN', 'INSERT', 'UPDATE', 'REPLACE', 'REMOVE'],
      });
    return this.#cursor.unexpected(started ? ['an operator', ...operationStarts] : operationStarts);
  }

  /** `FOR … LET a = 1, b = 2` gives several operations; undefined where no operation begins. */
  #parseOperation(): readonly Operation[] | undefined {
    const { word, kind } = this.#cursor.peek();
    if (kind === 'keyword') return this.#parseKeywordOperation(word);
    if (kind !== 'name') return undefined;
    const misplaced = misplacedStatement(this.#cursor);
    if (misplaced) throw misplaced;
    if (!isModelCall(this.#cursor)) return undefined;
    return [this.#parseTrailingCall()];
  }

  #parseTrailingCall(): Operation {
    const at = this.#cursor.peek().start;
    const value = this.#expressions.parse();
    return { kind: 'return', at, distinct: false, value };
  }

  #parseKeywordOperation(word: string): readonly Operation[] | undefined {
    const at = this.#cursor.peek().start;
    switch (word) {
      case 'FOR':
        return [this.#parseFor()];
      case 'LET':
        return this.#parseLet();
      case 'FILTER':
        this.#cursor.next();
        return [{ kind: 'filter', at, condition: this.#expressions.parse() }];
      case 'SORT':
        return [this.#parseSort()];
      case 'LIMIT':
        return [this.#parseLimit()];
      case 'COLLECT':
        return [this.#parseCollect()];
      case 'RETURN':
        return [this.#parseReturn()];
      case 'UPSERT':
      case 'WINDOW':
        throw notSupported({ text: this.#cursor.text, at }, word, 'R13');
      case 'INSERT':
      case 'UPDATE':
      case 'REPLACE':
      case 'REMOVE':
        return [this.#parseModification()];
      default:
        return undefined;
    }
  }

  #parseFor(): Operation {
    const cursor = this.#cursor;
    const at = cursor.next().start;
    const name = cursor.expectName('a variable name after FOR');
    if (cursor.isOperator(',')) throw notSupported({ text: cursor.text, at }, 'a traversal', 'R11');
    if (!cursor.acceptWord('IN')) throw cursor.unexpected(['IN']);
    this.#refuseTraversal(at);
    const source = this.#expressions.parse();
    this.#refuseTraversal(at);
    if (cursor.isWord('SEARCH')) throw notSupported({ text: cursor.text, at: cursor.peek().start }, 'SEARCH', 'R10');
    const options = this.#parseOptions();
    return { kind: 'for', at, variable: String(name.value), variableAt: name.start, source, ...(options && { options }) };
  }

  #refuseTraversal(at: number): void {
    const { word, kind } = this.#cursor.peek();
    if (kind !== 'keyword') return;
    const place = { text: this.#cursor.text, at };
    if (['OUTBOUND', 'INBOUND', 'ANY'].includes(word)) throw notSupported(place, 'a traversal', 'R11');
    if (pathWords.includes(word)) throw notSupported(place, word, 'R11');
  }

  #parseLet(): readonly Operation[] {
    const cursor = this.#cursor;
    const at = cursor.next().start;
    const operations: Operation[] = [];
    do {
      if (cursor.isOperator('[') || cursor.isOperator('{')) throw notSupported({ text: cursor.text, at }, 'destructuring in LET', 'R13');
      const name = cursor.expectName('a variable name after LET');
      if (!cursor.acceptOperator('=')) throw cursor.unexpected(["'='"], cursor.isOperator('==') ? '= assigns; == compares' : undefined);
      operations.push({ kind: 'let', at, variable: String(name.value), variableAt: name.start, value: this.#expressions.parse() });
    } while (cursor.acceptOperator(','));
    return operations;
  }

  #parseSort(): Operation {
    const at = this.#cursor.next().start;
    const keys: { expression: Expression; direction: 'ASC' | 'DESC' | Expression }[] = [];
    do {
      const expression = this.#expressions.parse();
      keys.push({ expression, direction: this.#parseDirection() });
    } while (this.#cursor.acceptOperator(','));
    return { kind: 'sort', at, keys };
  }

  #parseDirection(): 'ASC' | 'DESC' | Expression {
    const cursor = this.#cursor;
    if (cursor.acceptWord('DESC')) return 'DESC';
    if (cursor.acceptWord('ASC')) return 'ASC';
    const { kind } = cursor.peek();
    return kind === 'string' || kind === 'bind' ? this.#expressions.parseUnary() : 'ASC';
  }

  #parseLimit(): Operation {
    const at = this.#cursor.next().start;
    const first = this.#expressions.parse();
    if (!this.#cursor.acceptOperator(',')) return { kind: 'limit', at, count: first };
    return { kind: 'limit', at, offset: first, count: this.#expressions.parse() };
  }

  #parseCollect(): CollectOperation {
    const collect = parseCollect(this.#cursor, this.#expressions);
    const options = this.#parseOptions();
    return options ? { ...collect, options } : collect;
  }

  #parseReturn(): Operation {
    const at = this.#cursor.next().start;
    const distinct = this.#cursor.acceptWord('DISTINCT');
    return { kind: 'return', at, distinct, value: this.#expressions.parse() };
  }

  #parseModification(): ModificationOperation {
    const token = this.#cursor.next();
    const operation = token.word.toLowerCase() as ModificationOperation['operation'];
    const first = this.#expressions.parse({ stopAtIn: true });
    const subject = operation === 'insert' ? { document: first } : { key: first };
    const patched = operation === 'update' || operation === 'replace';
    const replacement = patched && this.#cursor.acceptWord('WITH') ? { document: this.#expressions.parse({ stopAtIn: true }) } : {};
    const collection = this.#parseTarget(patched && !('document' in replacement));
    const options = this.#parseOptions();
    return { kind: 'modification', at: token.start, operation, ...subject, ...replacement, collection, ...(options && { options }) };
  }

  #parseTarget(withAllowed: boolean): Expression {
    const cursor = this.#cursor;
    if (!cursor.acceptWord('IN') && !cursor.acceptWord('INTO'))
      throw cursor.unexpected([...(withAllowed ? ['WITH'] : []), 'IN', 'INTO', 'an operator']);
    return this.parseCollectionName();
  }

  parseCollectionName(): Expression {
    const token = this.#cursor.peek();
    const value = String(token.value);
    if (token.kind !== 'name' && token.kind !== 'string' && token.kind !== 'collectionBind')
      throw this.#cursor.unexpected(['the name of a collection', 'a collection parameter @@name']);
    this.#cursor.next();
    return { kind: token.kind === 'collectionBind' ? 'collectionBind' : 'reference', at: token.start, name: value };
  }

  #parseOptions(): Expression | undefined {
    if (!this.#cursor.isWord('OPTIONS')) return undefined;
    this.#cursor.next();
    return this.#expressions.parseObject();
  }
}
