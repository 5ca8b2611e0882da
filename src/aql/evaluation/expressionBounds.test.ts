import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/index.js';
import { regexFunctions } from '../functions/regexFunctions.js';
import { stringFunctions } from '../functions/stringFunctions.js';
import { planQuery } from '../planQuery.js';
import { compileExpression } from './compileExpression.js';
import type { EvaluationContext } from './EvaluationContext.js';

const stepsMax = 100_000;
const memoryLimitBytes = 1_000_000;

/** A context as a query gives it: work and memory beyond the bounds throw. */
class Bounds implements EvaluationContext {
  readonly nowMs = 0;
  readonly memoryLimitBytes = memoryLimitBytes;
  readonly scratch: JsonValue[] = [];
  steps = 0;
  bytes = 0;
  random = () => 0;
  warn = () => undefined;
  step(count: number): void {
    this.steps += count;
    if (this.steps > stepsMax) throw new Error('too many steps');
  }
  allocate(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > memoryLimitBytes) throw new Error('too many bytes');
  }
}

const evaluate = (text: string, bindVars: { [name: string]: JsonValue } = {}) => {
  const row: JsonValue[] = [];
  const bounds = new Bounds();
  for (const node of planQuery({ text: `RETURN ${text}`, bindVars }).nodes) {
    if (node.kind === 'Calculation') row[node.variable] = compileExpression(node.expression)(row, bounds);
    if (node.kind === 'Return') return { value: compileExpression(node.value)(row, bounds), bounds };
  }
  throw new Error('no RETURN');
};

/** Without bounds of the query. */
const evaluateLoose = (text: string, bindVars: { [name: string]: JsonValue }): JsonValue => {
  const row: JsonValue[] = [];
  const loose = { ...new Bounds(), step: () => undefined, allocate: () => undefined, memoryLimitBytes: 1e12 };
  for (const node of planQuery({ text: `RETURN ${text}`, bindVars }).nodes) {
    if (node.kind === 'Calculation') row[node.variable] = compileExpression(node.expression)(row, loose);
    if (node.kind === 'Return') return compileExpression(node.value)(row, loose);
  }
  return null;
};

const list = Array.from({ length: 2000 }, (_, i) => i);
/** Of a few thousand cells, but of 8,000,000 leaves when it is walked: rows share one array. */
const square = Array.from({ length: 4000 }, () => list);

describe('what a short expression can make', () => {
  it.each([
    ['RANGE(1, 10000000)'],
    ['1..10000000'],
    ['LENGTH(1..10000000)'],
    ['RANGE(1, 10000000, 1)'],
    ['(1..2000)[* RETURN 1..2000]'],
    ['LENGTH((1..20000)[* RETURN [CURRENT, CURRENT, CURRENT, CURRENT, CURRENT, CURRENT, CURRENT, CURRENT, CURRENT, CURRENT]])'],
    ['LENGTH((1..300)[* RETURN REPEAT("abcdefgh", 1000)])'],
    ['@list[* RETURN @list]'],
    ['[NOOPT(@square)]'],
    ['{a: {b: NOOPT(@square)}}'],
    ['true ? @square : 1'],
    ['@square && @square'],
    ['FLATTEN(@square)'],
    ['@square[**]'],
    ['JSON_STRINGIFY(@square)'],
    ['TO_STRING(@square)'],
    ['CONCAT(@square, "")'],
    ['HASH(@square)'],
    ['SORTED(@square)'],
    ['UNIQUE(@square)'],
    ['@square == @other'],
    ['@square IN [@other]'],
    ['@square ANY == @other'],
    ['MATCHES({a: @square}, {a: @other})'],
    ['{[NOOPT(@square)]: 1}'],
    ['({a: 1})[@square]'],
    ['@square LIKE "x"'],
    ['ZIP(@square, @square)'],
    ['MERGE({a: @square}, {b: @square})'],
    ['LEVENSHTEIN_DISTANCE(REPEAT("a", 5000), REPEAT("b", 5000))'],
    ['REMOVE_VALUES(@list, @list)'],
    ['TO_HEX(REPEAT("a", 500000))'],
  ])('%s ends at a bound', (text) => {
    const bindVars = Object.fromEntries(
      Object.entries({ list, square, other: square.map((row) => [...row, 1]) }).filter(([name]) => text.includes(`@${name}`)),
    );
    expect(() => evaluate(text, bindVars)).toThrow(/too many (steps|bytes)/);
  });

  it('is counted before it is made: a range beyond the limit takes no memory', () => {
    const before = process.memoryUsage().heapUsed;
    expect(() => evaluate('RANGE(1, 10000000)')).toThrow('too many');
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40_000_000);
  });
});

describe('work on texts counts steps in proportion to them', () => {
  const others: { readonly [name: string]: string } = {
    CONCAT: '@text, "x"',
    CONCAT_SEPARATOR: '"-", @text, "x"',
    REPEAT: '"x", LENGTH(@text)',
    SUBSTRING: '@text, 1',
    LEFT: '@text, 3',
    RIGHT: '@text, 3',
    SPLIT: '@text, "a"',
    SUBSTITUTE: '@text, "a", "b"',
    CONTAINS: '@text, "z"',
    FIND_FIRST: '@text, "z"',
    FIND_LAST: '@text, "z"',
    STARTS_WITH: '@text, "z"',
    LIKE: '@text, "z%"',
    JSON_PARSE: '@json',
    LEVENSHTEIN_DISTANCE: '@text, "z"',
    REGEX_TEST: '@text, "z"',
    REGEX_MATCHES: '@text, "z"',
    REGEX_SPLIT: '@text, "a"',
    REGEX_REPLACE: '@text, "a", "b"',
  };
  const counted = (text: string, length: number): number => {
    const letters = 'a'.repeat(length);
    const row: JsonValue[] = [];
    let steps = 0;
    const count = (more: number): void => {
      steps += more;
    };
    const context = { ...new Bounds(), step: count, allocate: () => undefined, memoryLimitBytes: 1e12 };
    const bindVars = Object.fromEntries(
      Object.entries({ text: letters, json: `"${letters}"`, list: [letters, letters] }).filter(([name]) => text.includes(`@${name}`)),
    );
    for (const node of planQuery({ text: `RETURN ${text}`, bindVars }).nodes) {
      if (node.kind === 'Calculation') row[node.variable] = compileExpression(node.expression)(row, context);
      if (node.kind === 'Return') compileExpression(node.value)(row, context);
    }
    return steps;
  };
  const calls = Object.keys({ ...stringFunctions, ...regexFunctions }).map((name) => `${name}(${others[name] ?? '@text'})`);

  it.each([...calls, 'JSON_STRINGIFY(@list)', 'CONCAT(@list)', 'CONCAT_SEPARATOR("", @list)', 'TO_STRING(@text)', 'REVERSE(@text)'])(
    '%s',
    (call) => {
      for (const length of [16_000, 60_000, 70_000]) expect(counted(call, length)).toBeGreaterThanOrEqual(length / 16);
    },
  );

  it('many substitutions, and separators, count as often as they are looked for', () => {
    const texts = JSON.stringify(Array.from({ length: 100 }, (_, i) => `z${i}`));
    for (const call of [`SUBSTITUTE(@text, ${texts})`, `SPLIT(@text, ${texts})`])
      expect(counted(call, 16_000)).toBeGreaterThanOrEqual((100 * 16_000) / 16);
  });
});

describe('a text that would be too long is null before it is made', () => {
  it.each(['REPEAT("ab", 10000000)', 'REPEAT("", 100, REPEAT("x", 1000000))', 'CONCAT(@texts)', 'CONCAT_SEPARATOR(", ", @texts)'])(
    '%s',
    (call) => {
      const texts = Array.from({ length: 2000 }, () => 'x'.repeat(10_000));
      const answer = evaluateLoose(call, call.includes('@') ? { texts } : {});
      expect(answer).toBeNull();
    },
  );

  it.each<[string, string]>([
    ['REPEAT("ab", 3)', 'ababab'],
    ['REPEAT("ab", 3, "-")', 'ab-ab-ab'],
    ['REPEAT("ab", 1, "-")', 'ab'],
    ['REPEAT("ab", 0, "-")', ''],
    ['REPEAT("", 3, "-")', '--'],
    ['CONCAT_SEPARATOR("-", "a", [null, "b"], null)', 'a-b'],
    ['CONCAT_SEPARATOR("-", [])', ''],
  ])('%s → %j', (call, value) => {
    expect(evaluate(call).value).toBe(value);
  });
});

describe('what the process could not hold', () => {
  const make = (text: string) => evaluateLoose(text, {});
  it.each(['REGEX_REPLACE(REPEAT("a", 100000), "a", REPEAT("b", 10000))', 'SUBSTITUTE(REPEAT("a", 100000), "a", REPEAT("b", 10000))'])(
    '%s is a typed error',
    (text) => {
      expect(() => make(text)).toThrow(expect.objectContaining({ code: 'AQL_VALUE_TOO_LARGE', errorNum: 32 }));
    },
  );

  it.each([
    'JSON_PARSE(CONCAT(REPEAT("[", 201), REPEAT("]", 201)))',
    'JSON_PARSE(REPEAT("[", 1000000))',
    `${'['.repeat(201)}RAND()${']'.repeat(201)}`,
  ])('a value of more than 200 levels is refused (%#)', (text) => {
    expect(() => make(text)).toThrow(expect.objectContaining({ code: 'AQL_NESTING_TOO_DEEP', errorNum: 1524 }));
  });

  it('a value of 200 levels is taken', () => {
    expect(make('JSON_STRINGIFY(JSON_PARSE(CONCAT(REPEAT("[", 200), REPEAT("]", 200))))')).toHaveLength(400);
    expect(make('JSON_PARSE("{\\"a\\": \\"[[[[\\"}")')).toEqual({ a: '[[[[' });
  });
});

describe('what is cheap stays cheap', () => {
  it.each<[string, JsonValue]>([
    ['LENGTH(@square)', 4000],
    ['FIRST(@square[0])', 0],
    ['@square == null', false],
    ['IS_ARRAY(@square)', true],
    ['@square[0][1]', 1],
    ['COSINE_SIMILARITY([3, 4], [3, 4])', 1],
  ])('%s', (text, value) => {
    const answer = evaluate(text, text.includes('@square') ? { square } : {});
    expect(answer.value).toEqual(value);
    expect(answer.bounds.steps).toBeLessThanOrEqual(4001);
  });
});
