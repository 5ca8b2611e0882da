import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/index.js';
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

describe('what the process could not hold', () => {
  const loose = { ...new Bounds(), step: () => undefined, allocate: () => undefined, memoryLimitBytes: 1e12 };
  const make = (text: string) => {
    const row: JsonValue[] = [];
    for (const node of planQuery({ text: `RETURN ${text}`, bindVars: {} }).nodes) {
      if (node.kind === 'Calculation') row[node.variable] = compileExpression(node.expression)(row, loose);
      if (node.kind === 'Return') return compileExpression(node.value)(row, loose);
    }
    return null;
  };
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
