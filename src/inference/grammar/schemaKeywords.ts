import type { JsonValue } from '../../base/index.js';

/** An object schema. */
export interface Schema {
  readonly [keyword: string]: JsonValue;
}

export const isSchema = (value: JsonValue | undefined): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

const isCount = (value: JsonValue): boolean => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isNumber = (value: JsonValue): boolean => typeof value === 'number' && Number.isFinite(value);
const isText = (value: JsonValue): boolean => typeof value === 'string';
const isSubschema = (value: JsonValue): boolean => typeof value === 'boolean' || isSchema(value);
const isSubschemas = (value: JsonValue): boolean => isList(value) && value.length > 0 && value.every(isSubschema);
const isSubschemaMap = (value: JsonValue): boolean => isSchema(value) && Object.values(value).every(isSubschema);
const isTexts = (value: JsonValue): boolean => isList(value) && value.every(isText);
const anything = (): boolean => true;

export const jsonTypes = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
export type JsonType = (typeof jsonTypes)[number];
const isType = (value: JsonValue): boolean => (jsonTypes as readonly JsonValue[]).includes(value);

/** Keywords that say nothing about validity. */
export const annotations: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  '$schema',
  '$defs',
  'definitions',
]);

/** What is enforced: the form of each keyword's value. Every other keyword is refused. */
export const schemaKeywords: ReadonlyMap<string, (value: JsonValue) => boolean> = new Map([
  ['type', (value: JsonValue) => isType(value) || (isList(value) && value.length > 0 && value.every(isType))],
  ['nullable', (value: JsonValue) => typeof value === 'boolean'],
  ['enum', (value: JsonValue) => isList(value)],
  ['const', anything],
  ['properties', isSubschemaMap],
  ['required', isTexts],
  ['additionalProperties', isSubschema],
  ['items', isSubschema],
  ['prefixItems', isSubschemas],
  ['minItems', isCount],
  ['maxItems', isCount],
  ['minLength', isCount],
  ['maxLength', isCount],
  ['pattern', isText],
  ['format', isText],
  ['minimum', isNumber],
  ['maximum', isNumber],
  ['exclusiveMinimum', isNumber],
  ['exclusiveMaximum', isNumber],
  ['anyOf', isSubschemas],
  ['oneOf', isSubschemas],
  ['allOf', isSubschemas],
  ['$ref', isText],
  // Off, these say nothing; on, they are refused.
  ['uniqueItems', (value: JsonValue) => typeof value === 'boolean'],
]);

/** The type that a keyword is about. */
export const typeOfKeyword: ReadonlyMap<string, JsonType> = new Map([
  ['properties', 'object'],
  ['required', 'object'],
  ['additionalProperties', 'object'],
  ['items', 'array'],
  ['prefixItems', 'array'],
  ['minItems', 'array'],
  ['maxItems', 'array'],
  ['minLength', 'string'],
  ['maxLength', 'string'],
  ['pattern', 'string'],
  ['format', 'string'],
  ['minimum', 'number'],
  ['maximum', 'number'],
  ['exclusiveMinimum', 'number'],
  ['exclusiveMaximum', 'number'],
]);
