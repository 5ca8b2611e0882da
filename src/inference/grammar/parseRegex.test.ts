import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OstrakaError } from '../../base/index.js';
import { openTestGrammar, readingOf } from './testing/openTestGrammar.js';

const regex = (pattern: string) => openTestGrammar({ kind: 'regex', pattern });
const codeOf = (pattern: string): string => {
  try {
    regex(pattern);
    return 'none';
  } catch (error) {
    if (error instanceof OstrakaError) return error.code;
    throw error;
  }
};

describe('regular expressions as constraints', () => {
  it('reads what RE2 reads, from the beginning to the end of the text', () => {
    for (const [pattern, whole, not] of [
      ['[0-9]{3}-\\d{2,4}', ['123-45', '000-1234'], ['123-4', '1234-5', '123-45678']],
      ['(?:yes|no)+?!*', ['yes', 'noyes!!'], ['', 'ye']],
      ['^a(?P<x>b|c)?(?<y>d)$', ['ad', 'abd'], ['a', 'abc']],
      ['[^\\d\\s]\\w\\W', ['ab-', 'é_ '], ['1b-', 'ab1']],
      ['a.c', ['abc', 'a日c'], ['a\nc']],
      ['\\x41\\u0042\\u{1F600}[\\-\\]x]\\.', ['AB😀-.', 'AB😀].'], ['AB😀-x']],
      ['x{,2}y{', ['x{,2}y{'], ['xxy']],
      ['[]a]+', [']a'], ['b']],
      ['|a', ['', 'a'], ['aa']],
    ] as const) {
      const grammar = regex(pattern);
      for (const text of whole) expect(readingOf(grammar, text), `${pattern} on ${text}`).toBe('whole');
      for (const text of not) expect(readingOf(grammar, text), `${pattern} on ${text}`).not.toBe('whole');
    }
  });

  it('refuses what it does not enforce, and what is malformed', () => {
    for (const pattern of ['a(?=b)', '(?<!a)b', '(a)\\1', '\\bword', '\\p{L}', '(?i)a', '[[:alpha:]]', 'a^b', 'a$b', '(a$)', 'a**', '\\Aa'])
      expect(codeOf(pattern), pattern).toBe('CONSTRAINT_NOT_SUPPORTED');
    for (const pattern of ['(a', 'a)', '*a', '[a', 'a{3,1}', '[z-a]', 'a\\', '(?P<', '\\xZZ', '[^\\d\\D]'])
      expect(codeOf(pattern), pattern).toMatch(/^CONSTRAINT_(INVALID|NOT_SUPPORTED)$/);
    for (const pattern of ['('.repeat(20_000), 'a{1000000}', '((a{1000}b){1000}c){1000}'])
      expect(codeOf(pattern), pattern.slice(0, 20)).toMatch(/^(CONSTRAINT_TOO_LARGE|none)$/);
  });

  const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\d', '1', '(?:ab)', '(a|b1)', '(?:a|)');
  const piece = fc.tuple(atom, fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{0,}', '+?')).map((parts) => parts.join(''));
  const pattern = fc
    .array(
      fc.array(piece, { maxLength: 4 }).map((parts) => parts.join('')),
      { minLength: 1, maxLength: 3 },
    )
    .map((parts) => parts.join('|'));

  it('agrees with RegExp on random patterns and texts', () => {
    fc.assert(
      fc.property(pattern, fc.array(fc.constantFrom('a', 'b', '1', 'c'), { maxLength: 7 }), (source, chars) => {
        const text = chars.join('');
        expect(readingOf(regex(source), text) === 'whole').toBe(new RegExp(`^(?:${source})$`, 'u').test(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('compiles or refuses any text, quickly', { timeout: 60_000 }, () => {
    const part = fc.constantFrom('(', ')', '[', ']', '{', '}', '9', ',', '*', '?', '\\', 'd', '|', '^', '$', '-', 'a', '(?:');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ maxLength: 40 }),
          fc.array(part, { maxLength: 40 }).map((parts) => parts.join('')),
        ),
        (text) => {
          expect(codeOf(text)).toMatch(/^none$|^CONSTRAINT_/);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
