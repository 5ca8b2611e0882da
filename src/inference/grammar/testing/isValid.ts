import type { JsonValue } from '../../../base/index.js';

interface Node {
  readonly [keyword: string]: JsonValue;
}
type Check = (value: JsonValue, given: JsonValue, schema: Node, root: JsonValue) => boolean;

const isObject = (value: JsonValue): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);
const same = (left: JsonValue, right: JsonValue): boolean => JSON.stringify(left) === JSON.stringify(right);
const ofType = (value: JsonValue, type: JsonValue): boolean => {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return isObject(value);
  if (type === 'array') return Array.isArray(value);
  return type === 'null' ? value === null : typeof value === type;
};
const formats: { readonly [format: string]: (text: string) => boolean } = {
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text,
  time: (text) => /Z$|[+-]\d\d:\d\d$/.test(text) && !Number.isNaN(Date.parse(`2020-01-01T${text}`)),
  email: (text) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text) && !text.includes('..'),
  uuid: (text) => text.length === 36 && /^[0-9a-f-]*$/i.test(text),
  ipv4: (text) => text.split('.').length === 4 && text.split('.').every((part) => String(Number(part)) === part && Number(part) < 256),
};
const list = (value: JsonValue): readonly JsonValue[] => value as readonly JsonValue[];

const checks: { readonly [keyword: string]: Check } = {
  type: (value, type) => (Array.isArray(type) ? type : [type]).some((each: JsonValue) => ofType(value, each)),
  enum: (value, values) => list(values).some((each) => same(each, value)),
  const: (value, given) => same(value, given),
  minimum: (value, given) => typeof value !== 'number' || value >= Number(given),
  maximum: (value, given) => typeof value !== 'number' || value <= Number(given),
  exclusiveMinimum: (value, given) => typeof value !== 'number' || value > Number(given),
  exclusiveMaximum: (value, given) => typeof value !== 'number' || value < Number(given),
  minLength: (value, given) => typeof value !== 'string' || [...value].length >= Number(given),
  maxLength: (value, given) => typeof value !== 'string' || [...value].length <= Number(given),
  pattern: (value, given) => typeof value !== 'string' || new RegExp(String(given), 'u').test(value),
  format: (value, given) => typeof value !== 'string' || (formats[String(given)]?.(value) ?? false),
  minItems: (value, given) => !Array.isArray(value) || value.length >= Number(given),
  maxItems: (value, given) => !Array.isArray(value) || value.length <= Number(given),
  prefixItems: (value, given, _, root) =>
    !Array.isArray(value) || list(given).every((each, place) => place >= value.length || isValid(value[place] as JsonValue, each, root)),
  items: (value, given, { prefixItems }, root) =>
    !Array.isArray(value) ||
    value.slice(prefixItems === undefined ? 0 : list(prefixItems).length).every((each) => isValid(each, given, root)),
  required: (value, given) => !isObject(value) || list(given).every((name) => Object.hasOwn(value, String(name))),
  properties: (value, given, _, root) =>
    !isObject(value) ||
    Object.entries(given as Node).every(([name, each]) => !Object.hasOwn(value, name) || isValid(value[name] as JsonValue, each, root)),
  additionalProperties: (value, given, { properties }, root) =>
    !isObject(value) ||
    Object.entries(value).every(([name, each]) => Object.hasOwn((properties ?? {}) as Node, name) || isValid(each, given, root)),
  anyOf: (value, given, _, root) => list(given).some((each) => isValid(value, each, root)),
  oneOf: (value, given, _, root) => list(given).filter((each) => isValid(value, each, root)).length === 1,
  allOf: (value, given, _, root) => list(given).every((each) => isValid(value, each, root)),
  $ref: (value, given, _, root) =>
    isValid(
      value,
      String(given)
        .split('/')
        .slice(1)
        .reduce((at: JsonValue, step) => (at as Node)[step] as JsonValue, root),
      root,
    ),
  $defs: () => true,
};

/** Schemas that are being looked at, each with its value. */
const underWay: (readonly [schema: JsonValue, value: JsonValue])[] = [];

/**
 * For tests: an evaluator of the schemas that tests write, by the letter of the specification and without a word in common with the
 * compiler. A reference that comes back to the same value has gone in a circle and proves nothing: nothing satisfies it.
 */
export function isValid(value: JsonValue, schema: JsonValue, root: JsonValue = schema): boolean {
  if (typeof schema === 'boolean') return schema;
  if (underWay.some(([one, seen]) => one === schema && seen === value)) return false;
  underWay.push([schema, value]);
  try {
    return Object.entries(schema as Node).every(([keyword, given]) => (checks[keyword] as Check)(value, given, schema as Node, root));
  } finally {
    underWay.pop();
  }
}
