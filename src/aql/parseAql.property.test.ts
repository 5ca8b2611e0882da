import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OstrakaError } from '../base/index.js';
import { parseAql } from './parseAql.js';
import { planQuery } from './planQuery.js';

const words = (
  'FOR d IN c FILTER SORT LIMIT LET COLLECT RETURN INSERT UPDATE REMOVE REPLACE INTO WITH COUNT AGGREGATE KEEP OPTIONS DISTINCT ASC DESC ' +
  'NOT AND OR LIKE ALL ANY NONE NEW OLD CURRENT INFER EMBED LLM RERANK DOMAIN SYSTEM CONTEXT SCHEMA EACH STREAM null true LENGTH FIRST ' +
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
