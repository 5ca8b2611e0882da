import type { CompileBudget } from './CompileBudget.js';
import { codePoints } from './codePoints.js';
import { type Expression, emptyText, expr, type Range, type Rules } from './Expression.js';
import { SourceText } from './SourceText.js';

const nameChar = /[A-Za-z0-9_-]/;
const escapes: { readonly [char: string]: number } = { n: 10, r: 13, t: 9, '\\': 92, '"': 34, '[': 91, ']': 93 };
const hexDigits: { readonly [char: string]: number } = { x: 2, u: 4, U: 8 };

/**
 * Reads GBNF, the grammar notation of llama.cpp: rules `name ::= …`, alternatives, literals, character classes, groups, repetition and
 * comments. A rule ends with its line, but lines go on inside a group and after `|`. Errors: CONSTRAINT_INVALID with line and column,
 * CONSTRAINT_NOT_SUPPORTED (token references), CONSTRAINT_TOO_LARGE.
 */
export function parseGbnf(grammar: string, budget: CompileBudget): Rules {
  const source = new SourceText(grammar.replaceAll('\r\n', '\n'), budget);
  const parser = new GbnfParser(source);
  const rules = new Map<string, Expression>();
  for (parser.skip(true); !source.ended; parser.skip(true)) {
    const { name, body } = parser.rule();
    if (rules.has(name)) throw source.invalid(`the rule "${name}" is there twice`);
    budget.check('rulesMax', rules.size + 1);
    rules.set(name, body);
  }
  const missing = ['root', ...parser.used].find((name) => !rules.has(name));
  if (missing !== undefined) throw source.invalid(`the grammar has no rule "${missing}"`);
  return rules;
}

class GbnfParser {
  /** Names that bodies refer to. */
  readonly used = new Set<string>();
  readonly #source: SourceText;

  constructor(source: SourceText) {
    this.#source = source;
  }

  rule(): { readonly name: string; readonly body: Expression } {
    const name = this.#name();
    this.skip(false);
    this.#source.expect('::=');
    this.skip(true);
    const body = this.#alternatives(false);
    if (!this.#source.ended && this.#source.peek() !== '\n') throw this.#source.invalid('the end of the rule is expected');
    return { name, body };
  }

  /** White space and comments; with `lines`, line ends too. */
  skip(lines: boolean): void {
    const source = this.#source;
    for (;;) {
      if (source.peek() === '#') source.takeWhile(/[^\n]/);
      else if (/^[ \t]$/.test(source.peek()) || (lines && /^[\r\n]$/.test(source.peek()))) source.take();
      else return;
    }
  }

  #name(): string {
    const name = this.#source.takeWhile(nameChar);
    if (name === '') throw this.#source.invalid('the name of a rule is expected');
    return name;
  }

  #alternatives(inGroup: boolean): Expression {
    const alternatives = [this.#sequence(inGroup)];
    while (this.#source.accept('|')) {
      this.skip(true);
      alternatives.push(this.#sequence(inGroup));
    }
    return expr.choice(...alternatives);
  }

  #sequence(inGroup: boolean): Expression {
    const parts: Expression[] = [];
    for (let item = this.#item(inGroup); item !== undefined; item = this.#item(inGroup)) parts.push(this.#repeated(item, inGroup));
    return parts.length === 0 ? emptyText : expr.sequence(...parts);
  }

  /** What repetition applies to; undefined where the sequence ends. */
  #item(inGroup: boolean): Expression | undefined {
    const source = this.#source;
    const item = this.#itemAt(source.peek());
    if (item !== undefined) this.skip(inGroup);
    return item;
  }

  #itemAt(first: string): Expression | undefined {
    const source = this.#source;
    if (first === '"') return this.#literal();
    if (first === '[') return this.#class();
    if (first === '(') return source.nested(() => this.#group());
    if (source.accept('.')) return expr.chars(...codePoints.all);
    if (first === '<' || first === '!') throw source.notSupported('references to single tokens');
    if (first === '' || !nameChar.test(first)) return undefined;
    const name = this.#name();
    this.used.add(name);
    return expr.rule(name);
  }

  #group(): Expression {
    this.#source.expect('(');
    this.skip(true);
    const body = this.#alternatives(true);
    this.#source.expect(')');
    return body;
  }

  #literal(): Expression {
    this.#source.expect('"');
    let text = '';
    while (!this.#source.accept('"')) text += String.fromCodePoint(this.#char());
    return expr.text(text);
  }

  #class(): Expression {
    this.#source.expect('[');
    const negated = this.#source.accept('^');
    const ranges: Range[] = [];
    while (!this.#source.accept(']')) ranges.push(this.#range());
    return expr.chars(...(negated ? codePoints.complement(ranges) : ranges));
  }

  #range(): Range {
    const from = this.#char();
    if (this.#source.peek() !== '-' || this.#source.peek(1) === ']') return { from, to: from };
    this.#source.take();
    const to = this.#char();
    if (to < from) throw this.#source.invalid('a range goes from the lower to the higher character');
    return { from, to };
  }

  #char(): number {
    const char = this.#source.take();
    if (char === '\n') throw this.#source.invalid('a literal ends on its line');
    if (char !== '\\') return char.codePointAt(0) as number;
    const escaped = this.#source.take();
    const digits = hexDigits[escaped];
    if (digits !== undefined) return this.#source.takeHex(digits);
    const point = escapes[escaped];
    if (point === undefined) throw this.#source.invalid(`there is no escape "\\${escaped}"`);
    return point;
  }

  #repeated(item: Expression, inGroup: boolean): Expression {
    const source = this.#source;
    let repeated = item;
    // Each sign wraps what is before it: as deep as nested groups are.
    for (let depth = 1; ; depth++) {
      const bounds = this.#repetition();
      if (bounds === undefined) return repeated;
      source.budget.check('nestingMax', depth);
      repeated = expr.repeat(repeated, bounds.min, bounds.max);
      this.skip(inGroup);
    }
  }

  #repetition(): { readonly min: number; readonly max: number } | undefined {
    const source = this.#source;
    if (source.accept('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (source.accept('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (source.accept('?')) return { min: 0, max: 1 };
    return source.accept('{') ? this.#counts() : undefined;
  }

  #counts(): { readonly min: number; readonly max: number } {
    const source = this.#source;
    const counts = source.takeWhile(/[0-9, ]/).replaceAll(' ', '');
    source.expect('}');
    const found = /^(\d{0,9})(,?)(\d{0,9})$/.exec(counts);
    if (found === null || counts === '' || counts === ',') throw source.invalid('a repetition is {m}, {m,}, {,n} or {m,n}');
    const min = Number(found[1]);
    const max = found[2] === '' ? min : found[3] === '' ? Number.POSITIVE_INFINITY : Number(found[3]);
    if (max < min) throw source.invalid('a repetition goes from the lower to the higher count');
    return { min, max };
  }
}
