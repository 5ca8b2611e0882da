import { expect, it } from 'vitest';
import type { JsonValue } from '../../base/index.js';
import { gatewayOptions } from '../options.js';
import { chatRequest } from './chat/chatRequest.js';

const of = (fields: { readonly [field: string]: JsonValue }) =>
  chatRequest({ model: 'default', messages: [{ role: 'user', content: 'hi' }], ...fields }, gatewayOptions.parse({})).sampling.constraint;
const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };

it.each<[{ readonly [field: string]: JsonValue }, unknown]>([
  [{}, undefined],
  [{ response_format: { type: 'text' } }, undefined],
  [{ response_format: { type: 'json_object' } }, { kind: 'jsonSchema', schema: { type: 'object' } }],
  [{ response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } } }, { kind: 'jsonSchema', schema }],
  [{ guided_json: schema }, { kind: 'jsonSchema', schema }],
  [{ guided_json: JSON.stringify(schema) }, { kind: 'jsonSchema', schema }],
  [{ guided_regex: '[a-z]+' }, { kind: 'regex', pattern: '[a-z]+' }],
  [{ guided_choice: ['yes', 'no'] }, { kind: 'choice', texts: ['yes', 'no'] }],
  [{ guided_grammar: 'root ::= "a"' }, { kind: 'gbnf', grammar: 'root ::= "a"' }],
  [{ structured_outputs: { json: schema } }, { kind: 'jsonSchema', schema }],
  [{ structured_outputs: { json_object: true } }, { kind: 'jsonSchema', schema: { type: 'object' } }],
  [{ structured_outputs: { regex: '[a-z]+' } }, { kind: 'regex', pattern: '[a-z]+' }],
  [{ structured_outputs: { choice: ['yes', 'no'] } }, { kind: 'choice', texts: ['yes', 'no'] }],
  [{ structured_outputs: { grammar: 'root ::= "a"' } }, { kind: 'gbnf', grammar: 'root ::= "a"' }],
])('%j', (fields, constraint) => {
  expect(of(fields)).toEqual(constraint);
});

it('takes one form at most', () => {
  expect(() => of({ structured_outputs: { regex: 'a', choice: ['b'] } })).toThrow(expect.objectContaining({ code: 'PARAMETER_BAD' }));
  expect(() => of({ guided_regex: 'a', response_format: { type: 'json_object' } })).toThrow(
    expect.objectContaining({ code: 'PARAMETER_BAD' }),
  );
});
