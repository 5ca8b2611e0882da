import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../base/index.js';
import { allowedTokens, endToken, openTestGrammar, readingOf, testVocabulary, vocabularyOf } from './testing/openTestGrammar.js';

const bytesOf = (tokens: readonly number[]): string[] => tokens.map((token) => utf8.decode(testVocabulary.tokenBytes(token)));

describe('GrammarMatcher', () => {
  it('allows exactly the tokens that some text goes on with, each of two with the same bytes', () => {
    const matcher = openTestGrammar({ kind: 'regex', pattern: 'names?|nab' }).matcher();
    expect(bytesOf(allowedTokens(matcher.allowed())).sort()).toEqual(['n', 'na', 'name', 'name']);
    matcher.advance('n'.charCodeAt(0));
    matcher.advance('a'.charCodeAt(0));
    expect(bytesOf(allowedTokens(matcher.allowed())).sort()).toEqual(['b', 'm']);
  });

  it('allows end tokens exactly where the text may end, control tokens never', () => {
    const matcher = openTestGrammar({ kind: 'choice', texts: ['ab', 'abc'] }).matcher();
    const control = testVocabulary.size - 3;
    expect([endToken, control].map((token) => matcher.allows(token))).toEqual([false, false]);
    for (const char of 'ab') matcher.advance(char.charCodeAt(0));
    expect([endToken, control].map((token) => matcher.allows(token))).toEqual([true, false]);
    expect(allowedTokens(matcher.allowed())).toEqual(['c'.charCodeAt(0), endToken - 1, endToken]);
    matcher.advance('c'.charCodeAt(0));
    expect(matcher.mustEnd).toBe(true);
    expect(allowedTokens(matcher.allowed())).toEqual([endToken - 1, endToken]);
  });

  it('agrees in mask and look-up, whatever was read before and however little is kept', () => {
    const json = openTestGrammar({ kind: 'json' }, { statesMax: 64, masksMax: 1 });
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.nat(), (text, cut) => {
        const [one, other] = [json.matcher(), json.matcher()];
        for (const byte of utf8.encode(`[${text}`).slice(0, cut % (text.length + 2))) {
          if (!one.allows(byte)) break;
          one.advance(byte);
          const all = Array.from({ length: testVocabulary.size }, (_, token) => token);
          expect(allowedTokens(one.allowed())).toEqual(all.filter((token) => one.allows(token)));
        }
        expect(bytesOf(allowedTokens(other.allowed()))).toEqual(['[', '{', '{"']);
      }),
      { numRuns: 60 },
    );
  });

  it('takes no byte that the vocabulary has not by itself, so that nothing begun cannot be finished', () => {
    const few = vocabularyOf([...'abé'].map(utf8.encode));
    const grammar = openTestGrammar({ kind: 'regex', pattern: 'a[bcé]?' }, {}, few);
    const matcher = grammar.matcher();
    matcher.advance(0);
    expect([0, 1, 2].map((token) => matcher.allows(token))).toEqual([false, true, false]);
    expect(() => openTestGrammar({ kind: 'regex', pattern: 'ac' }, {}, few)).toThrowError(/no text of this vocabulary/);
  });

  it('is refused a token that the constraint forbids', () => {
    expect(() => openTestGrammar({ kind: 'json' }).matcher().advance(65)).toThrowError(/forbids/);
  });
});

describe('a choice', () => {
  it('is one of its texts, whole', () => {
    const grammar = openTestGrammar({ kind: 'choice', texts: ['yes', 'no', 'yes, but…', ''] });
    expect(['yes', 'no', 'yes, but…', ''].map((text) => readingOf(grammar, text))).toEqual(['whole', 'whole', 'whole', 'whole']);
    expect(['y', 'yes,', 'maybe', 'no!'].map((text) => readingOf(grammar, text))).toEqual(['prefix', 'prefix', 'refused', 'refused']);
  });

  it('takes as many texts as a request may give, whatever they share: no place has more ways to go on than there are bytes', () => {
    const sharings: readonly ((index: number) => string)[] = [
      (index) => String(index),
      (index) => `v${index}`,
      (index) => String.fromCodePoint(0x4e00 + index),
      (index) => `${index % 7}${'x'.repeat(index % 3)}${index}`,
      (index) => 'a'.repeat(index % 300),
    ];
    for (const textOf of sharings) {
      const texts = [...new Set(Array.from({ length: 4096 }, (_, index) => textOf(index)))];
      const grammar = openTestGrammar({ kind: 'choice', texts }, { configurationsMax: 257 });
      const some = [texts[0], texts[1], texts[299], texts.at(-1)] as string[];
      expect(some.map((text) => readingOf(grammar, text))).toEqual(some.map(() => 'whole'));
      expect(readingOf(grammar, 'w')).toBe('refused');
      openTestGrammar({ kind: 'jsonSchema', schema: { enum: texts } }, { configurationsMax: 257 });
    }
  });

  it('is one of its texts and nothing else, however they begin', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '漢', '字', '😀'), maxLength: 4 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 12 }), text, (texts, other) => {
        const grammar = openTestGrammar({ kind: 'choice', texts });
        for (const each of [...texts, other]) {
          const isPrefix = texts.some((one) => one.startsWith(each));
          expect(readingOf(grammar, each)).toBe(texts.includes(each) ? 'whole' : isPrefix ? 'prefix' : 'refused');
        }
      }),
    );
  });

  it('is refused without texts, with broken ones, or with too many', () => {
    const choice = (texts: readonly string[]) => () => openTestGrammar({ kind: 'choice', texts });
    expect(choice([])).toThrowError(/at least one/);
    expect(choice(['\ud800'])).toThrowError(/Unicode/);
    expect(choice(['x'.repeat(70_000)])).toThrowError(/sourceBytesMax/);
  });
});
