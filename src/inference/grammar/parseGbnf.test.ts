import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OstrakaError } from '../../base/index.js';
import type { GrammarOptions } from './options.js';
import { openTestGrammar, readingOf } from './testing/openTestGrammar.js';

const gbnf = (grammar: string, options: Partial<GrammarOptions> = {}) => openTestGrammar({ kind: 'gbnf', grammar }, options);
const errorOf = (grammar: string): { code: string; message: string } => {
  try {
    gbnf(grammar);
  } catch (error) {
    if (error instanceof OstrakaError) return { code: error.code, message: error.message };
    throw error;
  }
  return { code: 'none', message: '' };
};
const read = (grammar: string, texts: readonly string[]) => {
  const compiled = gbnf(grammar);
  return texts.map((text) => readingOf(compiled, text));
};

describe('GBNF', () => {
  it('reads rules, alternatives, literals with escapes, classes, groups and comments', () => {
    const grammar = `# a greeting
      root ::= greeting " " name # to whom
      greeting ::= "hello" | "hi" |
        "\\x48\\u00e9\\n\\"\\\\"
      name ::= [A-Z] [a-z-]+ ( "!"
        | [^a-z!] )?`;
    expect(read(grammar, ['hello Ann', 'hi Bo-b!', 'Hé\n"\\ Zed?', 'hi ann', 'hello A', 'hi Bob!!', 'hi Bob日'])).toEqual([
      'whole',
      'whole',
      'whole',
      'refused',
      'prefix',
      'refused',
      'whole',
    ]);
  });

  it('repeats: * + ? {m} {m,} {m,n}', () => {
    expect(read('root ::= "a"* "b"+ "c"?', ['', 'b', 'aabbc', 'abcc'])).toEqual(['prefix', 'whole', 'whole', 'refused']);
    expect(read('root ::= "ab"{2}', ['ab', 'abab', 'ababab'])).toEqual(['prefix', 'whole', 'refused']);
    expect(read('root ::= [x]{2,}', ['x', 'xx', 'xxxxx'])).toEqual(['prefix', 'whole', 'whole']);
    expect(read('root ::= ("a" | "bc"){1,3}', ['', 'abca', 'aaaa'])).toEqual(['prefix', 'whole', 'refused']);
    expect(read('root ::= "a"{0} "b"', ['a', 'b'])).toEqual(['refused', 'whole']);
  });

  it('follows nested and right-recursive rules, however long the text', () => {
    const nested = 'root ::= "(" root ")" | "x"';
    expect(read(nested, ['((x))', '((x)', '(x))'])).toEqual(['whole', 'prefix', 'refused']);
    expect(read('root ::= "a" root | "b"', [`${'a'.repeat(5000)}b`])).toEqual(['whole']);
  });

  it('opens no rule that it could not close within stackDepthMax', () => {
    const compiled = gbnf('root ::= "(" root ")" | "x"', { stackDepthMax: 8 });
    expect(readingOf(compiled, `${'('.repeat(8)}x${')'.repeat(8)}`)).toBe('whole');
    expect(readingOf(compiled, '('.repeat(9))).toBe('refused');
    const uneven = gbnf('root ::= "a" deep | "b" root "b" | "x"\ndeep ::= ("(" ("[" ("{" "y" "}") "]") ")") "d"', { stackDepthMax: 8 });
    expect(readingOf(uneven, `${'b'.repeat(8)}x${'b'.repeat(8)}`)).toBe('whole');
  });

  it('takes characters of several bytes, and no malformed ones', () => {
    const compiled = gbnf('root ::= [é-日]{2} [^a]');
    expect(readingOf(compiled, 'é日😀')).toBe('whole');
    expect(readingOf(compiled, 'ée')).toBe('refused');
    const matcher = gbnf('root ::= .').matcher();
    for (const byte of [0x80, 0xc0, 0xc1, 0xf5, 0xff]) expect(matcher.allows(byte)).toBe(false);
    matcher.advance(0xed);
    expect([0x9f, 0xa0].map((byte) => matcher.allows(byte))).toEqual([true, false]); // a0: surrogates
  });

  it('refuses with line and column', () => {
    expect(errorOf('root ::= "a"\nother "b"')).toEqual({ code: 'CONSTRAINT_INVALID', message: '2:7: "::=" is expected' });
    for (const wrong of [
      '',
      'a ::= "x"',
      'root ::= x',
      'root ::= "a',
      'root ::= [z-a]',
      'root ::= "a" )',
      'root ::= ("a"',
      'root ::= "a"{3,2}',
    ])
      expect(errorOf(wrong).code, wrong).toBe('CONSTRAINT_INVALID');
    for (const wrong of ['root ::= "\\q"', 'root ::= "a"{,}', 'root ::= "a"\nroot ::= "b"', 'root ::= "\\U00110000"', 'root ::= *'])
      expect(errorOf(wrong).code, wrong).toBe('CONSTRAINT_INVALID');
    expect(errorOf('root ::= <think>').code).toBe('CONSTRAINT_NOT_SUPPORTED');
  });

  it('refuses left recursion, direct, through other rules and behind empty ones', () => {
    for (const wrong of ['root ::= root "a" | "b"', 'root ::= a\na ::= b "x"\nb ::= a | "y"', 'root ::= e root "a" | "b"\ne ::= "z"?'])
      expect(errorOf(wrong), wrong).toMatchObject({ code: 'CONSTRAINT_INVALID', message: expect.stringContaining('left recursion') });
  });

  it('refuses a grammar that no text matches', () => {
    for (const wrong of ['root ::= "a" root', 'root ::= []', 'root ::= a\na ::= "x" b\nb ::= "y" a'])
      expect(errorOf(wrong).code, wrong).toBe('CONSTRAINT_INVALID');
  });

  it('bounds what it compiles: 20,000 groups in each other, huge counts, many rules', () => {
    for (const large of [
      `root ::= ${'('.repeat(20_000)}"a"${')'.repeat(20_000)}`,
      `root ::= "a"${'?'.repeat(20_000)}`,
      'root ::= "a"{999999999}',
      'root ::= (("ab"{1000}){1000}){1000} [^b]{0,99999} ',
      Array.from({ length: 20_000 }, (_, index) => `${index === 0 ? 'root' : `r${index}`} ::= r${index + 1}`).join('\n'),
    ])
      expect(errorOf(large).code, large.slice(0, 40)).toBe('CONSTRAINT_TOO_LARGE');
    const chain = Array.from({ length: 3000 }, (_, index) => `${index === 0 ? 'root' : `r${index}`} ::= r${index + 1} | "${index}"`);
    expect(errorOf(`${chain.join('\n')}\nr3000 ::= "z"`).code).toBe('CONSTRAINT_TOO_LARGE'); // of readings
  });

  it('ends an answer with too many readings by an error', () => {
    const compiled = gbnf('root ::= (("a"{1,40}){1,40}){1,40}', { configurationsMax: 200 });
    expect(() => readingOf(compiled, 'a'.repeat(60))).toThrowError(/configurationsMax/);
  });

  it('compiles or refuses any text, quickly', { timeout: 60_000 }, () => {
    const part = fc.constantFrom(
      'root',
      ' ::= ',
      '"a"',
      '[a-z]',
      '[^',
      '(',
      ')',
      '|',
      '*',
      '+',
      '?',
      '{2}',
      '{0,',
      '\n',
      ' ',
      'b',
      '#',
      '.',
      '\\',
      '"',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ maxLength: 60 }),
          fc.array(part, { maxLength: 40 }).map((parts) => `root ::= ${parts.join('')}`),
        ),
        (text) => {
          expect(['none', 'CONSTRAINT_INVALID', 'CONSTRAINT_NOT_SUPPORTED', 'CONSTRAINT_TOO_LARGE']).toContain(errorOf(text).code);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
