import type { OstrakaError } from '../../base/index.js';
import { inferenceError } from '../errors.js';
import type { CompileBudget } from './CompileBudget.js';

/** A cursor over the characters of a grammar or pattern; knows where it is for the messages of errors. */
export class SourceText {
  readonly budget: CompileBudget;
  readonly #chars: readonly string[];
  #at = 0;
  #nesting = 0;

  constructor(text: string, budget: CompileBudget) {
    this.budget = budget;
    this.#chars = [...text];
  }

  get ended(): boolean {
    return this.#at >= this.#chars.length;
  }

  get position(): number {
    return this.#at;
  }

  /** The character so far ahead; empty beyond the end. */
  peek(ahead = 0): string {
    return this.#chars[this.#at + ahead] ?? '';
  }

  take(): string {
    this.budget.step();
    if (this.ended) throw this.invalid('the text ends too early');
    return this.#chars[this.#at++] as string;
  }

  /** Takes `text` if it is next. */
  accept(text: string): boolean {
    const chars = [...text];
    if (!chars.every((char, ahead) => this.peek(ahead) === char)) return false;
    this.#at += chars.length;
    return true;
  }

  expect(text: string): void {
    if (!this.accept(text)) throw this.invalid(`"${text}" is expected`);
  }

  takeWhile(pattern: RegExp): string {
    let taken = '';
    while (!this.ended && pattern.test(this.peek())) taken += this.take();
    return taken;
  }

  /** A decimal number of at most nine digits. */
  takeCount(): number {
    const digits = this.takeWhile(/[0-9]/);
    if (digits === '' || digits.length > 9) throw this.invalid('a count is expected');
    return Number(digits);
  }

  /** The code point that so many hexadecimal digits name. */
  takeHex(digits: number): number {
    let hex = '';
    for (let count = 0; count < digits; count++) hex += this.take();
    return this.codePoint(hex);
  }

  codePoint(hex: string): number {
    const point = /^[0-9a-fA-F]{1,8}$/.test(hex) ? Number.parseInt(hex, 16) : Number.NaN;
    if (!(point <= 0x10ffff)) throw this.invalid(`"${hex}" names no character`);
    return point;
  }

  nested<Value>(read: () => Value): Value {
    this.budget.check('nestingMax', ++this.#nesting);
    const value = read();
    this.#nesting--;
    return value;
  }

  invalid(what: string): OstrakaError {
    return this.#error('CONSTRAINT_INVALID', what);
  }

  notSupported(what: string): OstrakaError {
    return this.#error('CONSTRAINT_NOT_SUPPORTED', what);
  }

  #error(code: 'CONSTRAINT_INVALID' | 'CONSTRAINT_NOT_SUPPORTED', what: string): OstrakaError {
    const lines = this.#chars.slice(0, this.#at).join('').split('\n');
    const line = lines.length;
    const column = [...(lines.at(-1) as string)].length + 1;
    return inferenceError(code, `${line}:${column}: ${what}`, { data: { line, column } });
  }
}
