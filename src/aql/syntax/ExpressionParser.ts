import type { OstrakaError } from '../../base/index.js';
import type { BinaryOperator, Expression, ObjectEntry, Operation, Quantifier } from './Ast.js';
import { infixOperators, quantifiableOperators, ternaryPower } from './infixOperators.js';
import { misplacedStatement } from './misplacedStatement.js';
import { notSupported } from './notSupported.js';
import { isModelCall, parseModelCall } from './parseModelCall.js';
import { parsePostfix } from './parsePostfix.js';
import type { TokenCursor } from './TokenCursor.js';

const subqueryWords = new Set('FOR LET FILTER SORT LIMIT COLLECT RETURN INSERT UPDATE REPLACE REMOVE UPSERT WINDOW WITH'.split(' '));

interface Infix {
  readonly operator: BinaryOperator | '..';
  readonly power: number;
  readonly tokens: number;
}

/**
 * Expressions: a Pratt loop over `infixOperators` above recursive descent for operands. Subqueries are read by the operation parser,
 * which comes in as a function since operations in turn hold expressions.
 */
export class ExpressionParser {
  readonly #cursor: TokenCursor;
  readonly #parseSubquery: () => readonly Operation[];

  constructor(cursor: TokenCursor, parseSubquery: () => readonly Operation[]) {
    this.#cursor = cursor;
    this.#parseSubquery = parseSubquery;
  }

  /** `stopAtIn`: a top-level IN ends the expression, as in `REMOVE d IN c`. */
  parse(options: { readonly stopAtIn?: boolean } = {}): Expression {
    // Where a whole expression begins; the prompt in `INFER 'm' llm ADAPTER name` is read as less.
    const misplaced = misplacedStatement(this.#cursor);
    if (misplaced) throw misplaced;
    return this.#cursor.nested(() => this.#parseInfix(ternaryPower, options.stopAtIn ?? false));
  }

  #parseInfix(powerMin: number, stopAtIn: boolean): Expression {
    let left = this.parseUnary();
    while (true) {
      if (powerMin <= ternaryPower && this.#cursor.isOperator('?')) {
        left = this.#parseTernary(left, stopAtIn);
        continue;
      }
      const quantified = this.#peekQuantified();
      const infix = quantified ?? this.#peekInfix(0);
      if (infix === undefined || infix.power < powerMin || (stopAtIn && infix.operator === 'IN')) return left;
      left = this.#parseRight(left, infix, quantified !== undefined, stopAtIn);
    }
  }

  #parseRight(left: Expression, infix: Infix, quantified: boolean, stopAtIn: boolean): Expression {
    const quantifier = quantified ? this.#parseQuantifier() : undefined;
    for (let i = 0; i < infix.tokens; i++) this.#cursor.next();
    const right = this.#parseInfix(infix.power + 1, stopAtIn);
    const { operator } = infix;
    if (operator === '..') return { kind: 'range', at: left.at, from: left, to: right };
    return { kind: 'binary', at: left.at, operator, left, right, ...(quantifier && { quantifier }) };
  }

  #parseTernary(condition: Expression, stopAtIn: boolean): Expression {
    const cursor = this.#cursor;
    cursor.expectOperator('?');
    return cursor.nested(() => {
      const whenTrue = cursor.isOperator(':') ? undefined : this.parse();
      cursor.expectOperator(':');
      const whenFalse = this.#parseInfix(ternaryPower, stopAtIn);
      return { kind: 'ternary', at: condition.at, condition, ...(whenTrue && { whenTrue }), whenFalse };
    });
  }

  #peekInfix(ahead: number): Infix | undefined {
    const token = this.#cursor.peek(ahead);
    if (token.kind !== 'operator' && token.kind !== 'keyword') return undefined;
    const second = token.word === 'NOT' ? this.#cursor.peek(ahead + 1).word : undefined;
    const written = token.kind === 'operator' ? token.text : second === undefined ? token.word : `NOT ${second}`;
    const found = Object.hasOwn(infixOperators, written) ? infixOperators[written] : undefined;
    return found && { ...found, tokens: second === undefined ? 1 : 2 };
  }

  /** ALL, ANY, NONE and AT LEAST (n) are quantifiers only before a comparison; elsewhere ANY is a direction of a traversal. */
  #peekQuantified(): Infix | undefined {
    const cursor = this.#cursor;
    if (cursor.isWord('AT') && cursor.isWord('LEAST', 1) && cursor.isOperator('(', 2)) return { operator: '==', power: 4, tokens: 0 };
    if (!cursor.isKeyword('ALL') && !cursor.isKeyword('ANY') && !cursor.isKeyword('NONE')) return undefined;
    const infix = this.#peekInfix(1);
    return infix && quantifiableOperators.has(infix.operator) ? infix : undefined;
  }

  #parseQuantifier(): Quantifier {
    const token = this.#cursor.next();
    if (token.word === 'AT') throw notSupported({ text: this.#cursor.text, at: token.start }, 'AT LEAST', 'R13');
    return { kind: token.word.toLowerCase() as 'all' | 'any' | 'none' };
  }

  /** An operand with its prefix operators and accessors: what INFER takes as prompt. */
  parseUnary(): Expression {
    const cursor = this.#cursor;
    const { start: at, text, word, kind } = cursor.peek();
    const operator = kind === 'keyword' && word === 'NOT' ? '!' : kind === 'operator' && ['!', '+', '-'].includes(text) ? text : undefined;
    if (operator === undefined) return this.#parseOperand();
    cursor.next();
    return { kind: 'unary', at, operator: operator as '!' | '+' | '-', operand: cursor.nested(() => this.parseUnary()) };
  }

  #parseOperand(): Expression {
    const cursor = this.#cursor;
    const token = cursor.peek();
    if (token.kind === 'number' || token.kind === 'string')
      return this.#accessed({ kind: 'literal', at: token.start, value: cursor.next().value });
    if (token.kind === 'bind' || token.kind === 'collectionBind')
      return this.#accessed({ kind: token.kind, at: token.start, name: String(cursor.next().value) });
    if (token.kind === 'operator') return this.#parseBracketed();
    if (token.kind === 'keyword') return this.#parseKeywordOperand();
    if (token.kind !== 'name') throw this.#expectedExpression();
    if (isModelCall(cursor)) return parseModelCall(cursor, this);
    return this.#parseNamed();
  }

  #accessed(operand: Expression): Expression {
    return parsePostfix(this.#cursor, operand, () => this.parse());
  }

  #expectedExpression(): OstrakaError {
    return this.#cursor.unexpected(['an expression']);
  }

  #parseKeywordOperand(): Expression {
    const { word, start: at } = this.#cursor.peek();
    if (word === 'TRUE' || word === 'FALSE' || word === 'NULL') {
      this.#cursor.next();
      return { kind: 'literal', at, value: word === 'NULL' ? null : word === 'TRUE' };
    }
    if (word === 'LIKE' && this.#cursor.isOperator('(', 1)) return this.#parseNamed();
    throw this.#expectedExpression();
  }

  #parseNamed(): Expression {
    const cursor = this.#cursor;
    const token = cursor.next();
    const name = String(token.value);
    if (cursor.isOperator('::')) throw notSupported({ text: cursor.text, at: token.start }, `user function ${name}::…`, 'R13');
    if (!cursor.isOperator('(')) return this.#accessed({ kind: 'reference', at: token.start, name });
    cursor.next();
    const parameters = this.#parseList(')', () => this.#parseArgument());
    return this.#accessed({ kind: 'call', at: token.start, name, arguments: parameters });
  }

  /** An argument may be a subquery without parentheses of its own: `LENGTH(FOR d IN c RETURN 1)`. */
  #parseArgument(): Expression {
    const { start: at, kind, word } = this.#cursor.peek();
    if (kind !== 'keyword' || !subqueryWords.has(word)) return this.parse();
    return { kind: 'subquery', at, operations: this.#cursor.nested(this.#parseSubquery) };
  }

  #parseBracketed(): Expression {
    const cursor = this.#cursor;
    const { text, start: at } = cursor.peek();
    if (text === '(') return this.#accessed(this.#parseParenthesis());
    if (text === '{') return this.#accessed(this.parseObject());
    if (text !== '[') throw this.#expectedExpression();
    cursor.next();
    return this.#accessed({ kind: 'array', at, items: this.#parseList(']', () => this.parse()) });
  }

  #parseParenthesis(): Expression {
    const cursor = this.#cursor;
    cursor.expectOperator('(');
    const inner = this.#parseArgument();
    if (!cursor.isOperator(')')) throw cursor.unexpected(["')'", 'an operator']);
    cursor.next();
    return inner;
  }

  #parseList<Item>(close: string, parseItem: () => Item): Item[] {
    const cursor = this.#cursor;
    const items: Item[] = [];
    while (!cursor.acceptOperator(close)) {
      items.push(parseItem());
      if (cursor.acceptOperator(',')) continue;
      if (!cursor.isOperator(close)) throw cursor.unexpected(["','", `'${close}'`]);
    }
    return items;
  }

  parseObject(): Expression {
    const at = this.#cursor.peek().start;
    if (this.#cursor.peek().kind === 'bind') return { kind: 'bind', at, name: String(this.#cursor.next().value) };
    this.#cursor.expectOperator('{');
    return { kind: 'object', at, entries: this.#parseList('}', () => this.#parseEntry()) };
  }

  #parseEntry(): ObjectEntry {
    const cursor = this.#cursor;
    const token = cursor.peek();
    if (cursor.acceptOperator('[')) return this.#parseComputedEntry();
    if (token.kind === 'bind') {
      cursor.next();
      return this.#parseEntryValue({ kind: 'computed', expression: { kind: 'bind', at: token.start, name: String(token.value) } });
    }
    if (token.kind === 'keyword')
      throw cursor.unexpected(["an attribute name or '}'"], `${token.text} is a reserved word; write it in quotes`);
    if (token.kind !== 'name' && token.kind !== 'string') throw cursor.unexpected(["an attribute name or '}'"]);
    const name = String(cursor.next().value);
    if (token.kind === 'name' && (cursor.isOperator(',') || cursor.isOperator('}')))
      return { key: { kind: 'name', name }, value: { kind: 'reference', at: token.start, name } };
    return this.#parseEntryValue({ kind: 'name', name });
  }

  #parseComputedEntry(): ObjectEntry {
    const expression = this.parse();
    this.#cursor.expectOperator(']');
    return this.#parseEntryValue({ kind: 'computed', expression });
  }

  #parseEntryValue(key: ObjectEntry['key']): ObjectEntry {
    this.#cursor.expectOperator(':');
    return { key, value: this.parse() };
  }
}
