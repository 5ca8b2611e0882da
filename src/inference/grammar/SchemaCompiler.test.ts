import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonValue, OstrakaError } from '../../base/index.js';
import { uniformAt } from '../sampling/uniformAt.js';
import type { GrammarOptions } from './options.js';
import { isValid } from './testing/isValid.js';
import { drawAnswer, openTestGrammar, readingOf } from './testing/openTestGrammar.js';

const compile = (schema: JsonValue, options: Partial<GrammarOptions> = {}) => openTestGrammar({ kind: 'jsonSchema', schema }, options);
const errorOf = (schema: JsonValue): { readonly code: string; readonly message: string } => {
  try {
    compile(schema);
  } catch (error) {
    if (error instanceof OstrakaError) return { code: error.code, message: error.message };
    throw error;
  }
  return { code: 'none', message: '' };
};
/** Which of the texts the schema's grammar takes as whole. */
const takes = (schema: JsonValue, texts: readonly string[], options: Partial<GrammarOptions> = {}): readonly string[] => {
  const grammar = compile(schema, options);
  return texts.filter((text) => readingOf(grammar, text) === 'whole');
};
const expectTaken = (schema: JsonValue, taken: readonly string[], refused: readonly string[]): void =>
  expect(takes(schema, [...taken, ...refused]), JSON.stringify(schema)).toEqual(taken);
/** Answers that ended by themselves, of a model that draws anything. */
const answersOf = (schema: JsonValue, seed: number, count: number): readonly string[] => {
  const grammar = compile(schema);
  return Array.from({ length: count }, (_, index) => {
    let place = 0;
    const choose = (of: number): number => Math.floor(uniformAt(seed * 1000 + index, place++) ** 2 * of);
    return drawAnswer(grammar, choose, 200);
  }).flatMap(({ text, ended }) => (ended ? [text] : []));
};

describe('JSON mode', () => {
  const json = openTestGrammar({ kind: 'json' });
  it('takes objects and arrays of JSON and nothing else', () => {
    const taken = ['{}', '[]', '{"a":[1,-0.5e+3,true,false,null,"\\u00e9\\n\\""]}', '{\n  "a": {"b": []},\n  "c": ""\n}', '[ 1, [2] ]'];
    expect(taken.map((text) => readingOf(json, text))).toEqual(taken.map(() => 'whole'));
    for (const text of ['1', '"a"', '{a:1}', '[1,]', '{"a":1,}', '[01]', '["\\x"]', '["\\ud800"]', '[+1]', '["\n"]', '[1.]', '{} '])
      expect(readingOf(json, text), text).not.toBe('whole');
  });

  it('lets no model go on for ever in white space or digits', () => {
    for (const text of [
      '[  ',
      '{\n\n',
      `[\n${' '.repeat(17)}`,
      '{"a":\n',
      '{"a" :',
      `[${'1'.repeat(16)}`,
      `[0.${'1'.repeat(16)}`,
      '[1e123',
      '{}\n',
    ])
      expect(readingOf(json, text), text).toBe('refused');
  });

  it('must end after the last bracket, where an end token is all that is allowed', () => {
    const matcher = json.matcher();
    for (const byte of [0x5b, 0x5d]) matcher.advance(byte);
    expect({ complete: matcher.isComplete, must: matcher.mustEnd }).toEqual({ complete: true, must: true });
  });
});

describe('JSON schema as a constraint', () => {
  it('keeps types, also in lists and nullable', () => {
    expectTaken({ type: 'string' }, ['"a"', '""'], ['1', 'null']);
    expectTaken({ type: ['integer', 'null'] }, ['0', '-12', 'null'], ['1.5', '-0', '"1"']);
    expectTaken({ type: 'boolean', nullable: true }, ['true', 'false', 'null'], ['0']);
    expectTaken({ type: 'number' }, ['0', '-1.5', '2e10'], ['.5', '"1"', '1e400']);
    expectTaken({}, ['1', '{}', '"a"', '[null]'], ['a']);
    expectTaken(true, ['1'], ['a']);
  });

  it('writes properties in the order of the schema, optional ones or not', () => {
    const properties = { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'null' } };
    expectTaken(
      { type: 'object', properties, required: ['b'] },
      ['{"b":""}', '{"a":1,"b":""}', '{"b":"","c":null}', '{ "a": 1, "b": "x", "c": null }', '{\n "b": ""\n}'],
      ['{}', '{"a":1}', '{"b":"","a":1}', '{"b":"",}', '{,"b":""}', '{"b":"","d":1}', '{"a":1"b":""}'],
    );
    expectTaken({ properties }, ['{}', '{"c":null}', '{"a":1,"c":null}'], ['{"c":null,"a":1}', '[]']);
    expectTaken({ properties: { a: { type: 'null' } }, required: ['a', 'z'] }, ['{"a":null,"z":[1]}'], ['{"a":null}']);
  });

  it('writes additional properties under other names only, when they are asked for', () => {
    const extra = { properties: { ab: { type: 'null' }, a: { type: 'null' }, 'é"': true }, additionalProperties: { type: 'integer' } };
    expectTaken(
      extra,
      ['{}', '{"ab":null,"a":null}', '{"b":1}', '{"ab":null,"abc":1,"":2}', '{"é":1}', '{"ac":1,"b":2}'],
      ['{"ab":1}', '{"a":1}', '{"b":null}', '{"b":1,"a":null}', '{"\\u0061":1}', '{"b":1,"ab":2}'],
    );
    expectTaken({ type: 'object', additionalProperties: { type: 'null' } }, ['{}', '{"x":null,"y":null}'], ['{"x":1}']);
    expectTaken({ type: 'object', additionalProperties: false }, ['{}', '{ }'], ['{"x":1}']);
    expectTaken({ type: 'object' }, ['{}', '{"x":[{}]}'], ['[]']);
  });

  it('keeps enum and const, of any type', () => {
    expectTaken({ enum: ['a"b', 1, null, { x: [1] }] }, ['"a\\"b"', '1', 'null', '{"x":[1]}'], ['"a', '2', '{"x":[1,1]}']);
    expectTaken({ type: 'string', enum: ['a', 1] }, ['"a"'], ['1']);
    expectTaken({ const: 'x', enum: ['x', 'y'] }, ['"x"'], ['"y"']);
  });

  it('keeps items, prefixItems, minItems and maxItems', () => {
    expectTaken({ type: 'array', items: { type: 'null' } }, ['[]', '[null]', '[null, null]'], ['[1]']);
    expectTaken({ items: { type: 'null' }, minItems: 1, maxItems: 2 }, ['[null]', '[null,null]'], ['[]', '[null,null,null]']);
    const prefixItems = [{ type: 'string' }, { type: 'integer' }];
    expectTaken({ prefixItems, items: false }, ['[]', '["a"]', '["a",1]'], ['[1]', '["a","b"]', '["a",1,2]']);
    expectTaken(
      { prefixItems, items: { type: 'null' }, minItems: 3, maxItems: 4 },
      ['["a",1,null]', '["a",1,null,null]'],
      ['["a",1]', '["a",null,1]'],
    );
    expectTaken({ prefixItems, minItems: 1, maxItems: 1 }, ['["a"]'], ['[]', '["a",1]']);
    expectTaken({ type: 'array', maxItems: 0 }, ['[]'], ['[1]']);
  });

  it('counts the characters of a string, an escape as one', () => {
    expectTaken({ type: 'string', minLength: 2, maxLength: 3 }, ['"ab"', '"日é😀"', '"\\n\\u00e9"'], ['"a"', '"abcd"', '"\\n"']);
    expectTaken({ type: 'string', maxLength: 0 }, ['""'], ['"a"']);
  });

  it('finds a pattern anywhere in a string unless it is anchored, and escapes what JSON must', () => {
    expectTaken({ type: 'string', pattern: '^[a-c"\\\\]+$' }, ['"abc"', '"\\"\\\\"'], ['"abd"', '""', '"""']);
    expectTaken({ pattern: 'b+' }, ['"abc"', '"b"', '"b\\u0000"'], ['"ac"']);
    expectTaken({ pattern: '^a|b$' }, ['"ax"', '"xb"'], ['"xa"']);
    expectTaken({ pattern: '^.\\t$' }, ['"a\\t"'], ['"a\t"', '"\\n\\t"']);
  });

  it('keeps formats', () => {
    expectTaken(
      { format: 'date' },
      ['"2024-02-29"', '"2000-02-29"', '"2023-12-31"'],
      ['"2023-02-29"', '"1900-02-29"', '"2023-04-31"', '"2023-13-01"'],
    );
    expectTaken({ format: 'time' }, ['"23:59:59Z"', '"00:00:00.5+02:30"'], ['"24:00:00Z"', '"23:59:60Z"', '"10:00:00"']);
    expectTaken({ format: 'date-time' }, ['"2024-02-29T10:00:00Z"'], ['"2024-02-29 10:00:00Z"']);
    expectTaken({ format: 'uuid' }, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123e4567"']);
    expectTaken({ format: 'email' }, ['"a.b+c@x-y.example.org"'], ['"a..b@x.org"', '"a@b"', '"@x.org"']);
    expectTaken({ format: 'ipv4' }, ['"192.168.0.255"'], ['"256.0.0.1"', '"1.2.3"']);
  });

  it('keeps exact bounds of integers', () => {
    const bound = fc.integer({ min: -1200, max: 1200 });
    fc.assert(
      fc.property(bound, fc.nat({ max: 1500 }), bound, (minimum, width, value) => {
        const schema = { type: 'integer', minimum, exclusiveMaximum: minimum + width + 1 };
        const inside = value >= minimum && value <= minimum + width;
        expect(takes(schema, [String(value)])).toEqual(inside ? [String(value)] : []);
      }),
      { numRuns: 300 },
    );
    expectTaken({ type: 'integer', minimum: 0.5, maximum: 10.5 }, ['1', '10'], ['0', '11', '01']);
    expectTaken({ type: 'integer', minimum: -3 }, ['-3', '0', '999999999999999'], ['-4', '-0', '-03']);
    expectTaken({ type: 'integer', maximum: -1 }, ['-1', '-10'], ['0', '1']);
  });

  it('keeps exact bounds of decimals', () => {
    expectTaken(
      { type: 'number', minimum: 0.25, exclusiveMaximum: 1.5 },
      ['0.25', '1', '1.49', '1.499999', '0.250000', '0.3'],
      ['0.249999', '1.5', '1.50', '0', '2', '0.2', '-0.3'],
    );
    expectTaken(
      { type: 'number', exclusiveMinimum: -1, maximum: 0 },
      ['-0.999999', '0', '0.0', '-0.5'],
      ['-1', '-1.0', '0.1', '-0.0', '1e-3'],
    );
    const decimal = fc.integer({ min: -30_000, max: 30_000 }).map((value) => value / 1000);
    fc.assert(
      fc.property(decimal, decimal, decimal, fc.boolean(), (left, right, value, exclusive) => {
        const [low, high] = [Math.min(left, right), Math.max(left, right) + 1];
        const schema = exclusive ? { exclusiveMinimum: low, exclusiveMaximum: high } : { minimum: low, maximum: high };
        fc.pre(!Number.isInteger(value));
        const inside = exclusive ? value > low && value < high : value >= low && value <= high;
        expect(takes({ type: 'number', ...schema }, [String(value)])).toEqual(inside ? [String(value)] : []);
      }),
      { numRuns: 300 },
    );
  });

  it('takes alternatives with what stands beside them', () => {
    expectTaken({ anyOf: [{ type: 'integer' }, { type: 'string' }] }, ['1', '"a"'], ['null']);
    const properties = { a: { type: 'null' }, b: { type: 'null' } };
    const either = { type: 'object', properties, additionalProperties: false, anyOf: [{ required: ['a'] }, { required: ['b'] }] };
    expectTaken(either, ['{"a":null}', '{"b":null}', '{"a":null,"b":null}'], ['{}']);
  });

  it('takes oneOf only where its alternatives cannot hold at once', () => {
    const shape = (kind: string, rest: JsonValue) => ({
      type: 'object',
      properties: { kind: { const: kind }, size: rest },
      required: ['kind', 'size'],
    });
    const shapes = { $defs: { dot: shape('dot', { type: 'null' }) }, oneOf: [shape('box', { type: 'integer' }), { $ref: '#/$defs/dot' }] };
    expectTaken(shapes, ['{"kind":"box","size":1}', '{"kind":"dot","size":null}'], ['{"kind":"dot","size":1}']);
    expectTaken(
      { oneOf: [{ type: 'integer' }, { enum: ['a'] }, { anyOf: [{ type: 'null' }, { type: 'array' }] }] },
      ['1', '"a"', 'null', '[]'],
      ['"b"'],
    );
    for (const oneOf of [
      [{ type: 'integer' }, { type: 'number' }],
      [{ properties: { a: { const: 1 } } }, { properties: { a: { const: 2 } } }],
      [{ type: 'string' }, { maxLength: 3 }],
    ])
      expect(errorOf({ oneOf })).toMatchObject({ code: 'CONSTRAINT_NOT_SUPPORTED', message: expect.stringContaining('oneOf') });
  });

  it('merges what must hold together', () => {
    expectTaken(
      {
        allOf: [
          { type: 'integer', minimum: 3 },
          { type: 'number', maximum: 5 },
        ],
      },
      ['3', '5'],
      ['2', '6', '4.5'],
    );
    const left = { type: 'object', properties: { a: { type: 'integer' }, b: true }, required: ['a'] };
    const right = { properties: { a: { minimum: 2 }, c: { type: 'null' } }, required: ['c'] };
    expectTaken({ allOf: [left, right] }, ['{"a":2,"c":null}', '{"a":3,"b":[],"c":null}'], ['{"a":1,"c":null}', '{"a":2}']);
    expectTaken({ allOf: [{ ...left, additionalProperties: false }, { properties: { c: true } }] }, ['{"a":1}'], ['{"a":1,"c":1}']);
    const tuples = {
      allOf: [{ prefixItems: [{ type: 'integer' }] }, { type: 'array', items: { maximum: 5, type: 'number' }, minItems: 2 }],
    };
    expectTaken(tuples, ['[1,5]', '[5,0.5]'], ['[6,1]', '[0.5,1]', '[1]']);
    expect(errorOf({ allOf: [{ pattern: 'a' }, { pattern: 'b' }] })).toMatchObject({ code: 'CONSTRAINT_NOT_SUPPORTED' });
    expect(errorOf({ allOf: [{ type: 'string' }, { type: 'null' }] })).toMatchObject({ code: 'CONSTRAINT_INVALID' });
  });

  it('follows references, recursive ones too, also beside other keywords', () => {
    const tree = {
      $defs: { 'a/b': { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/a~1b' } }, up: { $ref: '#' } } } },
      $ref: '#/$defs/a~1b',
      required: ['kids'],
    };
    expectTaken(
      tree,
      ['{"kids":[]}', '{"kids":[{},{"kids":[{}]}]}', '{"kids":[],"up":{"kids":[]}}'],
      ['{}', '{"kids":[1]}', '{"kids":[],"up":{}}'],
    );
    const merged = { type: 'object', properties: { next: { allOf: [{ $ref: '#' }, { title: 'next' }] } }, additionalProperties: false };
    expectTaken(merged, ['{}', '{"next":{"next":{}}}'], ['{"next":1}']);
  });

  it('names a reference that leads back to itself, and takes one that leads there through a value', () => {
    const endless = [
      { $ref: '#' },
      { allOf: [{ title: 'again' }, { $ref: '#' }] },
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } } },
      { type: 'object', properties: { next: { $ref: '#/properties/next' } }, required: ['next'] },
    ];
    for (const schema of endless)
      expect(errorOf(schema)).toMatchObject({ code: 'CONSTRAINT_INVALID', message: expect.stringMatching(/\$ref: "#.*" holds only if/) });
    const twice = { $ref: '#/$defs/a', allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { const: 1, enum: [1, 2] } } };
    expectTaken(twice, ['1'], ['2']);
  });

  it('refuses each keyword that it does not enforce, with its path, and never ignores one', () => {
    const keywords = ['multipleOf', 'not', 'if', 'then', 'else', 'patternProperties', 'propertyNames', 'minProperties', 'maxProperties'];
    const others = [
      'contains',
      'dependentRequired',
      'dependentSchemas',
      'unevaluatedProperties',
      '$anchor',
      '$dynamicRef',
      'contentEncoding',
      'typo',
    ];
    for (const keyword of [...keywords, ...others]) {
      const message = expect.stringMatching(new RegExp(`^#/properties/x~1y.*"${keyword.replace('$', '\\$')}"`));
      expect(errorOf({ type: 'object', properties: { 'x/y': { [keyword]: 1 } } })).toMatchObject({
        code: 'CONSTRAINT_NOT_SUPPORTED',
        message,
      });
    }
    for (const schema of [
      { uniqueItems: true },
      { format: 'hostname' },
      { items: [{}] },
      { $ref: 'http://x' },
      { pattern: 'a', maxLength: 3 },
    ])
      expect(errorOf(schema as JsonValue), JSON.stringify(schema)).toMatchObject({ code: 'CONSTRAINT_NOT_SUPPORTED' });
    expect(errorOf({ properties: { a: { pattern: '(?=x)' } } }).message).toContain('#/properties/a/pattern: 1:');
    expect(errorOf({ enum: [5, 'a'], minimum: 6 }).code).toBe('CONSTRAINT_NOT_SUPPORTED');
  });

  it('refuses malformed schemas and those that nothing satisfies', () => {
    const malformed = [
      1,
      'x',
      null,
      { type: 'text' },
      { minLength: -1 },
      { properties: [] },
      { required: 'a' },
      { anyOf: [] },
      { $ref: '#/x' },
    ];
    const empty = [
      false,
      { enum: [] },
      { type: 'integer', minimum: 5, maximum: 4 },
      { minItems: 2, maxItems: 1 },
      { required: ['a'], additionalProperties: false },
    ];
    const endless = [
      { $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' },
      { properties: { a: { $ref: '#' } }, required: ['a'] },
    ];
    for (const schema of [...malformed, ...empty, ...endless])
      expect(errorOf(schema as JsonValue).code, JSON.stringify(schema)).toBe('CONSTRAINT_INVALID');
  });

  it('bounds what it compiles', { timeout: 60_000 }, () => {
    let deep: JsonValue = {};
    for (let depth = 0; depth < 20_000; depth++) deep = { items: deep };
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
      ]),
    );
    const ways = (count: number) => ({ anyOf: Array.from({ length: count }, (_, index) => ({ minimum: index })) });
    const wide = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`property${index}`, { type: 'integer', minimum: index }]));
    for (const schema of [
      deep,
      { $defs: { ...doubling, d40: {} }, $ref: '#/$defs/d0' },
      { properties: wide },
      { allOf: [ways(1500), ways(1500)] },
      { allOf: [ways(150), ways(150), ways(150)] },
      { allOf: Array.from({ length: 12 }, () => ways(3)) },
      { type: 'string', maxLength: 10_000_000 },
    ])
      expect(errorOf(schema).code).toBe('CONSTRAINT_TOO_LARGE');
  });

  const scalar = fc.oneof(
    fc.constantFrom<JsonValue>({ type: 'null' }, { type: 'boolean' }, { type: 'number' }, { type: ['integer', 'string'] }, {}),
    fc.record({ type: fc.constant('string'), minLength: fc.nat({ max: 3 }), maxLength: fc.integer({ min: 3, max: 6 }) }),
    fc.record({
      type: fc.constantFrom('integer', 'number'),
      minimum: fc.integer({ min: -50, max: 5 }),
      exclusiveMaximum: fc.integer({ min: 7, max: 900 }),
    }),
    fc.record({ enum: fc.array(fc.oneof(fc.string({ maxLength: 4 }), fc.integer(), fc.constant(null)), { minLength: 1, maxLength: 4 }) }),
    fc.record({ type: fc.constant('string'), format: fc.constantFrom('date', 'time', 'uuid', 'ipv4') }),
    fc.constantFrom<JsonValue>({ pattern: '^[a-c]{1,4}$' }, { type: 'string', pattern: 'a.?b' }),
  ) as fc.Arbitrary<JsonValue>;
  const name = fc.constantFrom('a', 'ab', 'name', 'é"', '0', '');
  const { schema: anySchema } = fc.letrec<{ schema: JsonValue }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      scalar,
      fc
        .record({
          type: fc.constant('object'),
          properties: fc.dictionary(name, tie('schema'), { maxKeys: 4 }),
          required: fc.uniqueArray(name, { maxLength: 2 }),
          additionalProperties: fc.oneof(fc.constant(true), tie('schema')),
        })
        .map(({ additionalProperties, ...rest }) => (rest.required.length % 2 === 0 ? { ...rest, additionalProperties } : rest)),
      fc.record({
        items: tie('schema'),
        prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        minItems: fc.nat({ max: 2 }),
        maxItems: fc.integer({ min: 2, max: 4 }),
      }),
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ allOf: fc.tuple(tie('schema'), tie('schema')) }),
      fc.record({ oneOf: fc.tuple(tie('schema'), tie('schema')) }),
      fc.constantFrom<JsonValue>({ $ref: '#/$defs/list' }, { $ref: '#' }),
    ),
  }));
  const list = { type: 'object', properties: { next: { $ref: '#/$defs/list' }, value: { type: 'integer' } } };

  it('is compared with an evaluator that ends where a reference goes in a circle', () => {
    const circle = { anyOf: [{ allOf: [{ $ref: '#' }, { type: 'string' }] }, { type: 'null' }] };
    expect([null, 'a', 1].map((value) => isValid(value, circle))).toEqual([true, false, false]);
  });

  it('answers of random schemas from random tokens parse, are valid, and come to no dead end', { timeout: 120_000 }, () => {
    let [compiled, ended] = [0, 0];
    fc.assert(
      fc.property(anySchema, fc.nat({ max: 1_000_000 }), (schema, seed) => {
        const document = { $defs: { list }, ...(typeof schema === 'object' ? schema : {}) } as JsonValue;
        const { code } = errorOf(document);
        expect(code).toMatch(/^none$|^CONSTRAINT_(INVALID|NOT_SUPPORTED|TOO_LARGE)$/);
        if (code !== 'none') return;
        compiled++;
        for (const answer of answersOf(document, seed, 6)) {
          ended++;
          expect(isValid(JSON.parse(answer) as JsonValue, document), `${answer} by ${JSON.stringify(document)}`).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
    expect(compiled).toBeGreaterThan(150);
    expect(ended).toBeGreaterThan(compiled);
  });
});
