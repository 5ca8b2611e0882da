import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OstrakaError } from '../base/index.js';
import { parseAql } from './parseAql.js';
import { planQuery } from './planQuery.js';

const words = (
  'FOR d IN c FILTER SORT LIMIT LET COLLECT RETURN INSERT UPDATE REMOVE REPLACE INTO WITH COUNT AGGREGATE KEEP OPTIONS DISTINCT ASC DESC ' +
  'NOT AND OR LIKE ALL ANY NONE NEW OLD CURRENT INFER EMBED LLM llm RERANK ADAPTER LIST load UNLOAD SHARD DOMAIN SYSTEM CONTEXT SCHEMA EACH STREAM null true LENGTH FIRST ' +
  '( ) [ ] { } [* ] . , : ? == != < = + - * / % .. && || ! =~ @p @@c "s" \'m\' 1 2.5 ; \\ ` // /* */ x.y'
).split(' ');

const onlyTyped = (work: () => unknown): void => {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(OstrakaError);
    expect((error as OstrakaError).code).not.toBe('INTERNAL');
  }
};

describe('parseAql', () => {
  it('answers any words with a tree or a typed error', () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 25 }), (tokens) =>
        onlyTyped(() => planQuery({ text: tokens.join(' '), bindVars: {} })),
      ),
      { numRuns: 3000 },
    ));

  it('answers any text so', () => fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => onlyTyped(() => parseAql(text)))));

  it('reads a query that begins with other words the same with LLM, ADAPTER, LIST, LOAD and UNLOAD as its names', () => {
    const names = fc.shuffledSubarray(['llm', 'adapter', 'list', 'load', 'unload', 'shard', 'domain'], { minLength: 3, maxLength: 3 });
    const forms = [
      'LET $0 = 1 LET $1 = $0 + 1 RETURN {$0, $1, $2: [$0, $1][0]}',
      'FOR $0 IN [1, 2] LET $1 = $0 FILTER $1 > 1 SORT $0 DESC COLLECT $2 = $1 RETURN $2',
      "LET $0 = 'p' LET $1 = 'a' LET $2 = INFER 'm' $0 ADAPTER $1 RETURN $2",
      'FOR $0 IN $1 RETURN INFER @m $0.text SYSTEM $0 DOMAIN $0 OPTIONS {seed: 1}',
      'FOR $0 IN @@c UPDATE $0 WITH {$1: $0.$2} IN $1 RETURN NEW',
      'RETURN $0($1($2))',
    ];
    const plain = ['one', 'two', 'three'];
    const shape = (form: string, used: readonly string[]): string => {
      const text = form.replaceAll(/\$(\d)/g, (_, place) => used[Number(place)] as string);
      return JSON.stringify(parseAql(text).operations, (key, value) => {
        if (/^at$|At$/.test(key)) return undefined;
        if (key !== 'name' && key !== 'variable') return value;
        return `$${used.findIndex((name) => name.toUpperCase() === String(value).toUpperCase())}`;
      });
    };
    fc.assert(
      fc.property(names, fc.constantFrom(...forms), fc.boolean(), (used, form, isUpper) => {
        const written = isUpper ? used.map((name) => name.toUpperCase()) : used;
        expect(shape(form, written)).toBe(shape(form, plain));
      }),
      { numRuns: 300 },
    );
  });

  it('gives line and column inside the text', () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words, '\n'), { maxLength: 15 }), (tokens) => {
        const text = tokens.join(' ');
        try {
          parseAql(text);
        } catch (error) {
          const { line, column } = (error as OstrakaError).data as { line: number; column: number };
          const lines = text.split('\n');
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeLessThanOrEqual((lines[line - 1] as string).length + 1);
        }
      }),
      { numRuns: 2000 },
    ));
});

describe('planQuery at the depth limit keeps within the stack', () => {
  it.each([
    ['brackets', `RETURN ${'[d, '.repeat(480)}1${']'.repeat(480)}`],
    ['parentheses', `RETURN ${'(1 + '.repeat(240)}1${')'.repeat(240)}`],
    ['a chain', `RETURN 1${' + d'.repeat(490)}`],
    ['subqueries', `RETURN ${'(RETURN '.repeat(240)}1${')'.repeat(240)}`],
    ['conditions with calls', `RETURN ${"d ? INFER 'm' 'x' : (".repeat(160)}1${')'.repeat(160)}`],
  ])('%s', (_, text) => expect(() => planQuery({ text: `LET d = 1 ${text}` })).not.toThrow());
});
