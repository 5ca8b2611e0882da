import type { CompileBudget } from './CompileBudget.js';
import { codePoints } from './codePoints.js';
import { type Expression, emptyText, expr, type Range } from './Expression.js';
import { SourceText } from './SourceText.js';

const digits: readonly Range[] = [{ from: 48, to: 57 }];
const wordChars: readonly Range[] = [...digits, { from: 65, to: 90 }, { from: 95, to: 95 }, { from: 97, to: 122 }];
const spaces: readonly Range[] = [
  { from: 9, to: 13 },
  { from: 32, to: 32 },
];
const classes: { readonly [char: string]: readonly Range[] } = {
  d: digits,
  D: codePoints.complement(digits),
  w: wordChars,
  W: codePoints.complement(wordChars),
  s: spaces,
  S: codePoints.complement(spaces),
};
const escapes: { readonly [char: string]: number } = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 };
const lineEnd: readonly Range[] = [{ from: 10, to: 10 }];
const anyText = expr.repeat(expr.chars(...codePoints.all), 0, Number.POSITIVE_INFINITY);

/**
 * Reads a regular expression, RE2's language without flags, Unicode properties and word borders. `whole`: the text is matched from its
 * beginning to its end, `^` and `$` there are redundant; `search`: it is somewhere in the text unless these bind it, as JSON schema has
 * it. Errors: CONSTRAINT_INVALID with line and column, CONSTRAINT_NOT_SUPPORTED, CONSTRAINT_TOO_LARGE.
 */
export function parseRegex(pattern: string, mode: 'whole' | 'search', budget: CompileBudget): Expression {
  const source = new SourceText(pattern, budget);
  const expression = new RegexParser(source, mode).pattern();
  if (!source.ended) throw source.invalid(`"${source.peek()}" stands alone`);
  return expression;
}

class RegexParser {
  readonly #source: SourceText;
  readonly #mode: 'whole' | 'search';

  constructor(source: SourceText, mode: 'whole' | 'search') {
    this.#source = source;
    this.#mode = mode;
  }

  /** Anchors are for the alternatives of the outermost level. */
  pattern(): Expression {
    const alternatives: Expression[] = [];
    do {
      const bound = this.#source.accept('^');
      const body = this.#sequence();
      const ends = this.#source.accept('$');
      const before = bound || this.#mode === 'whole' ? [] : [anyText];
      const after = ends || this.#mode === 'whole' ? [] : [anyText];
      alternatives.push(expr.sequence(...before, body, ...after));
    } while (this.#source.accept('|'));
    return expr.choice(...alternatives);
  }

  #alternatives(): Expression {
    const alternatives = [this.#sequence()];
    while (this.#source.accept('|')) alternatives.push(this.#sequence());
    return expr.choice(...alternatives);
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    for (let atom = this.#atom(); atom !== undefined; atom = this.#atom()) parts.push(this.#repeated(atom));
    return parts.length === 0 ? emptyText : expr.sequence(...parts);
  }

  #atom(): Expression | undefined {
    const source = this.#source;
    const next = source.peek();
    if (next === '' || next === '|' || next === ')') return undefined;
    if (next === '$') {
      if (source.peek(1) === '' || source.peek(1) === '|') return undefined;
      throw source.notSupported('"$" before the end');
    }
    if (next === '^') throw source.notSupported('"^" after the beginning');
    if (next === '*' || next === '+' || next === '?' || (next === '{' && this.#countsAhead()))
      throw source.invalid(`nothing is before "${next}"`);
    if (next === '(') return source.nested(() => this.#group());
    if (next === '[') return expr.chars(...this.#class());
    source.take();
    if (next === '.') return expr.chars(...codePoints.complement(lineEnd));
    if (next !== '\\') return pointOf(next.codePointAt(0) as number);
    const escaped = this.#escape();
    return typeof escaped === 'number' ? pointOf(escaped) : expr.chars(...escaped);
  }

  #group(): Expression {
    const source = this.#source;
    source.expect('(');
    if (source.accept('?') && !source.accept(':')) this.#groupName();
    const body = this.#alternatives();
    if (source.peek() === '$') throw source.notSupported('"$" in a group');
    source.expect(')');
    return body;
  }

  #groupName(): void {
    const source = this.#source;
    source.accept('P');
    const named = source.peek() === '<' && /^[A-Za-z_]$/.test(source.peek(1));
    if (!named) throw source.notSupported('groups with flags or that look around');
    source.accept('<');
    source.takeWhile(/[A-Za-z0-9_]/);
    source.expect('>');
  }

  #class(): readonly Range[] {
    const source = this.#source;
    source.expect('[');
    const negated = source.accept('^');
    const ranges: Range[] = [];
    for (let first = true; first || source.peek() !== ']'; first = false) ranges.push(...this.#classItem());
    source.expect(']');
    return negated ? codePoints.complement(ranges) : codePoints.normalise(ranges);
  }

  #classItem(): readonly Range[] {
    const source = this.#source;
    if (source.peek() === '[' && source.peek(1) === ':') throw source.notSupported('classes with a name');
    const from = this.#classPoint();
    if (typeof from !== 'number') return from;
    if (source.peek() !== '-' || source.peek(1) === ']') return [{ from, to: from }];
    source.take();
    const to = this.#classPoint();
    if (typeof to !== 'number' || to < from) throw source.invalid('a range goes from the lower to the higher character');
    return [{ from, to }];
  }

  #classPoint(): number | readonly Range[] {
    const char = this.#source.take();
    if (char !== '\\') return char.codePointAt(0) as number;
    return this.#source.accept('b') ? 8 : this.#escape();
  }

  /** After the backslash. */
  #escape(): number | readonly Range[] {
    const source = this.#source;
    const char = source.take();
    const found = classes[char];
    if (found !== undefined) return found;
    if (char === 'x' || char === 'u') return this.#hex(char === 'x' ? 2 : 4);
    const point = escapes[char];
    if (point !== undefined && !(char === '0' && /^[0-9]$/.test(source.peek()))) return point;
    if (/[A-Za-z0-9]/.test(char)) throw source.notSupported(`"\\${char}"`);
    return char.codePointAt(0) as number;
  }

  #hex(length: number): number {
    const source = this.#source;
    if (!source.accept('{')) return source.takeHex(length);
    const hex = source.takeWhile(/[0-9a-fA-F]/);
    source.expect('}');
    return source.codePoint(hex);
  }

  #repeated(atom: Expression): Expression {
    const source = this.#source;
    const bounds = this.#repetition();
    if (bounds === undefined) return atom;
    source.accept('?'); // lazy: the same texts match
    if (this.#repeatsAhead()) throw source.notSupported('a repetition of a repetition without a group');
    return expr.repeat(atom, bounds.min, bounds.max);
  }

  #repeatsAhead(): boolean {
    return /^[*+?]$/.test(this.#source.peek()) || (this.#source.peek() === '{' && this.#countsAhead());
  }

  /** A brace that is no repetition is a character. */
  #countsAhead(): boolean {
    let ahead = 1;
    while (/^[0-9,]$/.test(this.#source.peek(ahead))) ahead++;
    return ahead > 1 && this.#source.peek(1) !== ',' && this.#source.peek(ahead) === '}';
  }

  #repetition(): { readonly min: number; readonly max: number } | undefined {
    const source = this.#source;
    if (source.accept('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (source.accept('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (source.accept('?')) return { min: 0, max: 1 };
    if (source.peek() !== '{' || !this.#countsAhead()) return undefined;
    source.take();
    const min = source.takeCount();
    const max = source.accept(',') ? (source.peek() === '}' ? Number.POSITIVE_INFINITY : source.takeCount()) : min;
    source.expect('}');
    if (max < min) throw source.invalid('a repetition goes from the lower to the higher count');
    return { min, max };
  }
}

const pointOf = (point: number): Expression => expr.chars({ from: point, to: point });
