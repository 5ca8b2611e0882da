import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/index.js';
import { toolCallForm } from '../../platform/index.js';
import { uniformAt } from '../sampling/uniformAt.js';
import type { ToolCallConstraint } from './ToolCallConstraint.js';
import { isValid } from './testing/isValid.js';
import { drawAnswer, openTestGrammar, readingOf } from './testing/openTestGrammar.js';

const weather = {
  type: 'object',
  properties: { city: { type: 'string', maxLength: 6 }, days: { type: 'integer', minimum: 1, maximum: 9 } },
  required: ['city'],
  additionalProperties: false,
};
const recursive = {
  type: 'object',
  properties: { next: { $ref: '#/$defs/node' } },
  $defs: { node: { anyOf: [{ type: 'null' }, { type: 'object', properties: { next: { $ref: '#/$defs/node' } } }] } },
};
const toolsOf = (...all: readonly (readonly [string, JsonValue])[]) =>
  all.map(([name, parameters]) => ({ name, parameters, strict: true }));
const both = toolsOf(['get_weather', weather], ['walk', recursive]);
const open = (fields: Partial<ToolCallConstraint>) =>
  openTestGrammar({ kind: 'toolCalls', tools: both, callsMax: 3, text: 'none', ...fields });
const { opening, beforeName, beforeArguments, afterArguments, between } = toolCallForm;
const call = (name: string, json: string): string => opening + beforeName + name + beforeArguments + json + afterArguments;
const wuhan = call('get_weather', '{"city":"Wuhan"}');

/** Answers that ended by themselves, of a model that draws anything. */
const answersOf = (grammar: ReturnType<typeof open>, seed: number): readonly string[] =>
  Array.from({ length: 30 }, (_, index) => {
    let place = 0;
    const choose = (of: number): number => Math.floor(uniformAt(seed * 1000 + index, place++) ** 2 * of);
    return drawAnswer(grammar, choose, 400);
  }).flatMap(({ text, ended }) => (ended ? [text] : []));

const callForm = /<tool_call>\n(\{"name": .*?\})\n<\/tool_call>/gs;

describe('calls of tools in a constrained answer (R22)', () => {
  it('are valid by the schema of their tool whatever a model draws, and as many as are allowed', () => {
    const schemas: { readonly [name: string]: JsonValue } = { get_weather: weather, walk: recursive };
    const texts = [1, 2].flatMap((seed) => answersOf(open({}), seed));
    expect(texts.length).toBeGreaterThan(20);
    for (const text of texts) {
      const calls = [...text.matchAll(callForm)].map(([, json]) => JSON.parse(json as string) as { name: string; arguments: JsonValue });
      expect(text.replaceAll(callForm, '').trim()).toBe('');
      expect(calls.length >= 1 && calls.length <= 3).toBe(true);
      for (const { name, arguments: given } of calls) expect(isValid(given, schemas[name] as JsonValue), text).toBe(true);
    }
  });

  it('are required: neither text nor another tool, and one alone where no more are allowed', () => {
    const one = open({ tools: both.slice(0, 1), callsMax: 1 });
    expect(readingOf(one, wuhan)).toBe('whole');
    for (const text of ['Hello', ` ${wuhan}`, wuhan + between + wuhan, call('walk', '{}'), call('get_weather', '{}'), `${wuhan}\n`])
      expect(readingOf(one, text), text).toBe('refused');
    expect(readingOf(open({ callsMax: 2 }), wuhan + between + call('walk', '{}'))).toBe('whole');
    expect(readingOf(open({ callsMax: 2 }), [wuhan, wuhan, wuhan].join(between))).toBe('refused');
  });

  it('may follow any text, whose end is free; what begins a call is one', () => {
    const auto = open({ text: 'free' });
    const texts = [
      '',
      'Hello',
      'a <tool_cal',
      '<<tool_call',
      '{"name": "x"}',
      '</tool_call>',
      wuhan,
      `I look.\n${wuhan}`,
      `<<${wuhan}`,
      '日本 é',
    ];
    for (const text of texts) expect(readingOf(auto, text), text).toBe('whole');
    for (const text of [`${opening} `, `${opening}x`, call('other', '{}'), `${wuhan}.`, call('get_weather', '{"city":1}')])
      expect(readingOf(auto, text), text).toBe('refused');
    expect(readingOf(auto, `a${opening}\n{"na`)).toBe('prefix');
  });

  it('leaves every text without an opening as it is (automaton against a search)', () => {
    const auto = open({ text: 'free', tools: [] });
    const text = fc.string({ unit: fc.constantFrom('<', 't', '<tool_call', 'ool_call', '>', 'x'), maxLength: 8 });
    fc.assert(
      fc.property(text, (each) => {
        expect(readingOf(auto, each)).toBe(each.includes(opening) ? 'refused' : 'whole');
      }),
    );
  });

  it('stand instead of a text that has a form', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    const form = open({ text: { kind: 'jsonSchema', schema } });
    expect([readingOf(form, '{"a":1}'), readingOf(form, wuhan)]).toEqual(['whole', 'whole']);
    expect([readingOf(form, 'Hello'), readingOf(form, `{"a":1}${wuhan}`)]).toEqual(['refused', 'refused']);
  });
});

describe('a schema that is not enforced whole', () => {
  const wide = {
    type: 'object',
    properties: { n: { type: 'integer', multipleOf: 3, minimum: 0, maximum: 9 }, s: { type: 'string', format: 'uri' } },
    required: ['n'],
    propertyNames: { type: 'string' },
  };
  const grammarOf = (parameters: JsonValue, strict: boolean) => open({ tools: [{ name: 'f', parameters, strict }], callsMax: 1 });

  it('is refused for a strict tool, by tool, keyword and place', () => {
    for (const [parameters, keyword, path] of [
      [{ type: 'object', properties: { n: { type: 'integer', multipleOf: 3 } } }, 'multipleOf', '#/properties/n'],
      [{ type: 'object', minProperties: 1 }, 'minProperties', '#'],
      [{ type: 'object', properties: { s: { type: 'string', pattern: 'a(?=b)' } } }, 'pattern', '#/properties/s'],
    ] as const)
      expect(() => grammarOf(parameters, true)).toThrow(
        expect.objectContaining({
          code: 'CONSTRAINT_NOT_SUPPORTED',
          message: expect.stringContaining('tool "f"'),
          data: expect.objectContaining({ tool: 'f', keyword, path, param: 'tools' }),
        }),
      );
  });

  it('is enforced as far as it can be for any other tool', () => {
    const grammar = grammarOf(wide, false);
    for (const json of ['{"n":4}', '{"n":3,"s":"no uri"}']) expect(readingOf(grammar, call('f', json)), json).toBe('whole');
    for (const json of ['{}', '{"n":10}', '{"n":"3"}', '{"n":3,"s":4}']) expect(readingOf(grammar, call('f', json)), json).toBe('refused');
    const overlapping = { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] };
    expect(readingOf(grammarOf(overlapping, false), call('f', '{"b":1}'))).toBe('whole');
    expect(readingOf(grammarOf(overlapping, false), call('f', '{}'))).toBe('refused');
  });

  it('is of an object in any case, and refused where it says otherwise or is malformed', () => {
    for (const parameters of [{}, true, { description: 'x' }])
      expect(readingOf(grammarOf(parameters, true), call('f', '{"x":[1]}'))).toBe('whole');
    for (const parameters of [{ type: 'string' }, { type: 'object', required: 'a' }, false, 'x', { $ref: '#/$defs/none' }])
      expect(() => grammarOf(parameters, false)).toThrow(expect.objectContaining({ code: 'CONSTRAINT_INVALID' }));
  });
});
