import type { OstrakaError } from '../../base/index.js';
import { aqlLimits } from '../limits.js';
import { aqlErrorAt } from './aqlErrorAt.js';
import { lexAql } from './lexAql.js';
import { parseErrorAt } from './parseErrorAt.js';
import { suggestName } from './suggestName.js';
import { reservedWords, type Token } from './Token.js';

const describe = (token: Token): string => {
  if (token.kind === 'end') return 'unexpected end of the query';
  if (token.kind === 'keyword') return `unexpected ${token.word}`;
  if (token.kind === 'name') return `unexpected name '${token.value}'`;
  if (token.kind === 'string') return 'unexpected string';
  if (token.kind === 'number') return `unexpected number ${token.text}`;
  if (token.kind === 'operator') return `unexpected '${token.text}'`;
  return `unexpected bind parameter ${token.text}`;
};

/** Where the parser stands in the tokens; the one place that makes its errors and counts its depth. */
export class TokenCursor {
  readonly text: string;
  readonly #tokens: readonly Token[];
  readonly bindParameters = new Set<string>();
  #index = 0;
  #depth = 0;

  constructor(text: string) {
    this.text = text;
    this.#tokens = lexAql(text);
  }

  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#index + ahead, this.#tokens.length - 1)] as Token;
  }

  next(): Token {
    const token = this.peek();
    this.#index++;
    if (token.kind === 'bind') this.bindParameters.add(String(token.value));
    if (token.kind === 'collectionBind') this.bindParameters.add(`@${token.value}`);
    return token;
  }

  isOperator(operator: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'operator' && token.text === operator;
  }

  isKeyword(word: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'keyword' && token.word === word;
  }

  /** An unquoted name or keyword, whatever its case: how contextual words are read. */
  isWord(word: string, ahead = 0): boolean {
    return this.peek(ahead).word === word;
  }

  acceptOperator(operator: string): boolean {
    if (!this.isOperator(operator)) return false;
    this.#index++;
    return true;
  }

  acceptWord(word: string): boolean {
    if (!this.isWord(word)) return false;
    this.#index++;
    return true;
  }

  expectOperator(operator: string, hint?: string): Token {
    if (!this.isOperator(operator)) throw this.unexpected([`'${operator}'`], hint);
    return this.next();
  }

  expectWord(word: string): Token {
    if (!this.isWord(word)) throw this.unexpected([word]);
    return this.next();
  }

  /** A variable's name. */
  expectName(what: string): Token {
    const token = this.peek();
    if (token.kind === 'keyword')
      throw this.unexpected([what], `${token.text} is a reserved word; write it in backticks to use it as a name`);
    if (token.kind !== 'name') throw this.unexpected([what]);
    return this.next();
  }

  unexpected(expected: readonly string[], hint?: string): OstrakaError {
    const token = this.peek();
    const given = hint ?? this.#hintFor(token);
    return parseErrorAt(
      { text: this.text, at: token.start },
      describe(token),
      given === undefined ? { expected } : { expected, hint: given },
    );
  }

  failAt(at: number, problem: string, details: { readonly expected?: readonly string[]; readonly hint?: string } = {}): OstrakaError {
    return parseErrorAt({ text: this.text, at }, problem, details);
  }

  /** Runs one level deeper; more than `nestingMax` levels are error 1524. */
  nested<Result>(parse: () => Result): Result {
    if (++this.#depth > aqlLimits.nestingMax) throw this.#tooDeep();
    try {
      return parse();
    } finally {
      this.#depth--;
    }
  }

  #tooDeep(): OstrakaError {
    const place = { text: this.text, at: this.peek().start };
    return aqlErrorAt('AQL_NESTING_TOO_DEEP', place, `nested deeper than ${aqlLimits.nestingMax} levels`);
  }

  #hintFor(token: Token): string | undefined {
    if (token.kind === 'operator' && token.text === '=') return '= assigns; == compares';
    if (token.word === 'AGGREGATE') return 'AGGREGATE follows COLLECT';
    if (token.kind !== 'name' || token.word === '') return undefined;
    const keyword = suggestName(token.word, reservedWords);
    return keyword === undefined ? undefined : `did you mean ${keyword}?`;
  }
}
