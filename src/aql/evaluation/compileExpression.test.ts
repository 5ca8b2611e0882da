import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareValues, type JsonValue } from '../../base/index.js';
import { planQuery } from '../planQuery.js';
import { compileExpression } from './compileExpression.js';

const warnings: number[] = [];
const context = () => ({
  nowMs: 1_700_000_000_000,
  random: () => 0.5,
  warn: (code: number) => warnings.push(code),
  step: () => undefined,
  allocate: () => undefined,
  memoryLimitBytes: 1_000_000,
  scratch: [],
});

/** The value of one expression: calculations first, then RETURN. */
const evaluate = (text: string, bindVars: { [name: string]: JsonValue } = {}): JsonValue => {
  warnings.length = 0;
  const row: JsonValue[] = [];
  for (const node of planQuery({ text: `RETURN ${text}`, bindVars }).nodes) {
    if (node.kind === 'Calculation') row[node.variable] = compileExpression(node.expression)(row, context());
    if (node.kind === 'Return') return compileExpression(node.value)(row, context());
  }
  throw new Error('no RETURN');
};

describe('operators', () => {
  it.each<[string, JsonValue]>([
    ['1 + "2"', 3],
    ['"a" + "b"', 0],
    ['null + true', 1],
    ['7 % 4', 3],
    ['1 / 0', null],
    ['-"3"', -3],
    ['null < false', true],
    ['"a" < [ ]', true],
    ['[1, 2] == [1, 2]', true],
    ['{a: 1} == {a: 1, b: null}', true],
    ['1 == "1"', false],
    ['-0 == 0', true],
    ['2 IN [1, 2]', true],
    ['2 NOT IN 2', true],
    ['"abc" LIKE "a%"', true],
    ['"a.c" LIKE "a_c"', true],
    ['"abc" LIKE "a.c"', false],
    ['"a%" LIKE "a\\\\%"', true],
    ['"foobar" =~ "o+b"', true],
    ['"foobar" !~ "^b"', true],
    ['[1, 2] ANY == 2', true],
    ['[1, 2] ALL > 1', false],
    ['[1, 2] NONE IN [3]', true],
    ['[] ALL == 1', true],
    ['1 && 0', 0],
    ['null || "x"', 'x'],
    ['[] && 2', 2],
    ['NOT 0', true],
    ['false ? 1 : 2', 2],
    ['"x" ?: 2', 'x'],
    ['3..1', [3, 2, 1]],
    ['"abc"[0]', null],
    ['[1, 2, 3][-1]', 3],
    ['{a: {b: 1}}.a.b', 1],
    ['{a: 1}["a"]', 1],
    ['[{a: 1}, {a: 2}, 3][*].a', [1, 2, null]],
    ['[1, 2, 3, 4][* FILTER CURRENT > 1 LIMIT 2 RETURN CURRENT * 2]', [4, 6]],
    ['[[1, 2], [3]][**]', [1, 2, 3]],
    ['[{a: [{b: 1}]}][*].a[*].b', [[1]]],
    ['{[CONCAT("a", 1)]: 2}', { a1: 2 }],
  ])('%s', (text, value) => expect(evaluate(text)).toEqual(value));

  it('warns of a division by zero', () => {
    evaluate('1 / 0');
    expect(warnings).toEqual([1562]);
  });

  it('stays linear in the text for a hostile expression', () => {
    const text = `${'a'.repeat(50_000)}!`;
    expect(evaluate('@t =~ "^(a+)+$"', { t: text })).toBe(false);
  });

  it('is AQL’s total order', () =>
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }), (left, right) => {
        const [a, b] = [JSON.parse(JSON.stringify(left)) as JsonValue, JSON.parse(JSON.stringify(right)) as JsonValue];
        expect(evaluate('@a < @b', { a, b })).toBe(compareValues(a, b) < 0);
        expect(evaluate('@a == @b', { a, b })).toBe(compareValues(a, b) === 0);
      }),
    ));
});

describe('functions', () => {
  it.each<[string, JsonValue]>([
    ['CONCAT("a", null, 1, [2])', 'a1[2]'],
    ['CONCAT_SEPARATOR("-", "a", null, ["b", "c"])', 'a-b-c'],
    ['LENGTH("a😀")', 2],
    ['CHAR_LENGTH("😀a😀")', 3],
    ['LENGTH(CONCAT(SUBSTRING("😀", 0), "é"))', 2],
    ['LENGTH({a: 1})', 1],
    ['SUBSTRING("hello", -3, 2)', 'll'],
    ['SPLIT("a,b", ",")', ['a', 'b']],
    ['SUBSTITUTE("the fox", {the: "a", fox: "dog"})', 'a dog'],
    ['SUBSTITUTE("aaa", "a", "b", 2)', 'bba'],
    ['TRIM("  a ")', 'a'],
    ['CONTAINS("abc", "bc", true)', 1],
    ['FIND_LAST("abab", "ab")', 2],
    ['REGEX_REPLACE("a1b2", "[0-9]", "-")', 'a-b-'],
    ['REGEX_MATCHES("key=val", "(\\\\w+)=(\\\\w+)")', ['key=val', 'key', 'val']],
    ['MD5("foobar")', '3858f62230ac3c915f300c664312c63f'],
    ['MD5("")', 'd41d8cd98f00b204e9800998ecf8427e'],
    ['SHA256("foobar")', 'c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2'],
    ['TO_BASE64("Hello")', 'SGVsbG8='],
    ['APPEND([1], [1, 2], true)', [1, 2]],
    ['FLATTEN([1, [2, [3]]])', [1, 2, [3]]],
    ['SORTED([3, "a", null, 1])', [null, 1, 3, 'a']],
    ['UNIQUE([1, {a: 1}, 1, {a: 1}])', [1, { a: 1 }]],
    ['MINUS([1, 2, 3], [2])', [1, 3]],
    ['OUTERSECTION([1, 2], [2, 3])', [1, 3]],
    ['MERGE({a: 1}, {b: 2})', { a: 1, b: 2 }],
    ['MERGE_RECURSIVE({a: {b: 1}}, {a: {c: 2}})', { a: { b: 1, c: 2 } }],
    ['KEEP({a: 1, b: 2}, "a")', { a: 1 }],
    ['UNSET({a: 1, b: 2}, ["a"])', { b: 2 }],
    ['HAS({a: null}, "a")', true],
    ['MEDIAN([1, 2, 4, 3])', 2.5],
    ['ROUND(-2.5)', -2],
    ['MAX([1, "a", null])', 'a'],
    ['AVERAGE([1, null, 3])', 2],
    ['COSINE_SIMILARITY([2, 0], [3, 0])', 1],
    ['COSINE_SIMILARITY(null, [1, 1])', null],
    ['L2_DISTANCE([0, 0], [3, 4])', 5],
    ['L1_DISTANCE([0, 0], [3, 4])', 7],
    ['COSINE_SIMILARITY([[1, 0], [0, 1]], [1, 0])', [1, 0]],
    ['NOT_NULL(null, 2, 3)', 2],
    ['TO_NUMBER([["5"]])', 5],
    ['DATE_NOW()', 1_700_000_000_000],
    ['DATE_ISO8601("2024-02-29")', '2024-02-29T00:00:00.000Z'],
    ['PARSE_IDENTIFIER("c/k")', { collection: 'c', key: 'k' }],
    ['RANGE(1, 2, 0.5)', [1, 1.5, 2]],
    ['TYPENAME([])', 'array'],
  ])('%s', (text, value) => expect(evaluate(text)).toEqual(value));

  it('warns 1542 for an argument of a wrong type', () => {
    expect(evaluate('FIRST("a")')).toBeNull();
    expect(warnings).toEqual([1542]);
  });
});

describe('attribute names are data', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'then'];
  it.each(names)('%s', (name) => {
    const object = evaluate('{[@n]: {x: 1}}', { n: name }) as { [key: string]: JsonValue };
    expect(Object.keys(object)).toEqual([name]);
    expect(evaluate('{}[@n]', { n: name })).toBeNull();
    expect(evaluate('HAS({}, @n)', { n: name })).toBe(false);
    expect(JSON.stringify(evaluate('MERGE_RECURSIVE({[@n]: {x: 1}}, {[@n]: {y: 2}})', { n: name }))).toBe(`{"${name}":{"x":1,"y":2}}`);
  });

  it('never reach a prototype', () =>
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 1 }), (name, given) => {
        const value = JSON.parse(JSON.stringify(given)) as JsonValue;
        const object = JSON.parse(`{${JSON.stringify(name)}: ${JSON.stringify(value)}}`) as JsonValue;
        for (const text of ['MERGE(@o, {a: 1})', 'KEEP(@o, @n)', 'UNSET(@o, "a")', 'ZIP([@n], [1])', '{[@n]: 1}.b', 'TRANSLATE(@n, @o)'])
          evaluate(text, Object.fromEntries(Object.entries({ o: object, n: name }).filter(([key]) => text.includes(`@${key}`))));
        expect(Object.keys(Object.prototype)).toEqual([]);
        expect(({} as { a?: unknown }).a).toBeUndefined();
      }),
    ));
});
