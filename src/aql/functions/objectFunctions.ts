import { isObject, type JsonValue } from '../../base/index.js';
import { equalValues } from '../evaluation/equalValues.js';
import { type OpenObject, setOwn } from '../evaluation/setOwn.js';
import { toText } from '../evaluation/toText.js';
import { attributeOf, isArray, isTrue, type JsonObject } from '../evaluation/valueKinds.js';
import { type Arguments, argumentOr, type FunctionDefinition, type FunctionTable, pure, shallow, wrongType } from './FunctionDefinition.js';

const many = Number.POSITIVE_INFINITY;

const ofObject = (
  name: string,
  shape: readonly [number, number],
  apply: (object: JsonObject, values: Arguments) => JsonValue,
): FunctionDefinition =>
  pure(shape[0], shape[1], (values, context) => {
    const object = values[0] as JsonValue;
    return isObject(object) ? apply(object, values) : wrongType(context, name);
  });

const fromEntries = (entries: Iterable<readonly [string, JsonValue]>): JsonObject => {
  const object: OpenObject = {};
  for (const [key, value] of entries) setOwn(object, key, value);
  return object;
};

const visible = (object: JsonObject, withoutSystem: boolean): [string, JsonValue][] =>
  Object.entries(object).filter(([key]) => !(withoutSystem && key.startsWith('_')));

const attributes = (object: JsonObject, values: Arguments): JsonValue => {
  const names = visible(object, isTrue(argumentOr(values, 1, false))).map(([key]) => key);
  return isTrue(argumentOr(values, 2, false)) ? names.sort() : names;
};

const namesOf = (values: Arguments): Set<string> =>
  new Set(values.slice(1).flatMap((value) => (isArray(value) ? value.map(toText) : [toText(value)])));

const keep = (object: JsonObject, values: Arguments): JsonValue => {
  const names = namesOf(values);
  return fromEntries(Object.entries(object).filter(([key]) => names.has(key)));
};

const unset = (object: JsonObject, values: Arguments): JsonValue => {
  const names = namesOf(values);
  return fromEntries(Object.entries(object).filter(([key]) => !names.has(key)));
};

const merge = (objects: readonly JsonObject[], recursive: boolean): JsonObject => {
  const result: OpenObject = {};
  for (const object of objects)
    for (const [key, value] of Object.entries(object)) {
      const before = attributeOf(result, key);
      setOwn(result, key, recursive && isObject(before) && isObject(value) ? merge([before, value], true) : value);
    }
  return result;
};

const mergeFunction = (name: string, recursive: boolean): FunctionDefinition =>
  pure(1, many, (values, context) => {
    const objects = values.length === 1 && isArray(values[0]) ? values[0] : values;
    return objects.every(isObject) ? merge(objects, recursive) : wrongType(context, name);
  });

const zip = ([keys, values]: Arguments): JsonValue => {
  if (!isArray(keys) || !isArray(values) || keys.length !== values.length) return null;
  return fromEntries(keys.map((key, i) => [toText(key), values[i] as JsonValue]));
};

const matches = (object: JsonObject, values: Arguments): JsonValue => {
  const examples = isArray(values[1]) ? values[1] : [values[1] as JsonValue];
  const at = examples.findIndex(
    (example) => isObject(example) && Object.entries(example).every(([key, value]) => equalValues(attributeOf(object, key), value)),
  );
  return isTrue(argumentOr(values, 2, false)) ? at : at >= 0;
};

const valueAt = (object: JsonObject, values: Arguments): JsonValue => {
  const path = isArray(values[1]) ? values[1] : [values[1] as JsonValue];
  return path.reduce<JsonValue>(
    (value, step) => (isArray(value) && typeof step === 'number' ? (value.at(step) ?? null) : attributeOf(value, toText(step))),
    object,
  );
};

const translate = (values: Arguments): JsonValue => {
  const [value, table] = [values[0] as JsonValue, values[1] as JsonValue];
  if (isObject(table) && Object.hasOwn(table, toText(value))) return table[toText(value)] as JsonValue;
  return argumentOr(values, 2, value);
};

const parseIdentifier = (value: JsonValue): JsonObject | null => {
  const id = isObject(value) ? attributeOf(value, '_id') : value;
  const parts = typeof id === 'string' ? id.split('/') : [];
  return parts.length === 2 ? { collection: parts[0] as string, key: parts[1] as string } : null;
};

const identifierPart = (name: string, part: 'collection' | 'key' | undefined): FunctionDefinition =>
  pure(1, 1, ([value], context) => {
    const parsed = parseIdentifier(value as JsonValue);
    if (parsed === null) return wrongType(context, name);
    return part === undefined ? parsed : (parsed[part] as JsonValue);
  });

/** Objects. */
export const objectFunctions: FunctionTable = {
  ATTRIBUTES: ofObject('ATTRIBUTES', [1, 3], attributes),
  KEYS: ofObject('KEYS', [1, 3], attributes),
  VALUES: ofObject('VALUES', [1, 2], (object, values) => visible(object, isTrue(argumentOr(values, 1, false))).map(([, value]) => value)),
  ENTRIES: ofObject('ENTRIES', [1, 1], (object) => Object.entries(object)),
  HAS: shallow(2, 2, ([object, name]) => isObject(object) && Object.hasOwn(object, toText(name as JsonValue))),
  KEEP: ofObject('KEEP', [2, many], keep),
  UNSET: ofObject('UNSET', [2, many], unset),
  MERGE: mergeFunction('MERGE', false),
  MERGE_RECURSIVE: mergeFunction('MERGE_RECURSIVE', true),
  ZIP: pure(2, 2, (values, context) => zip(values) ?? wrongType(context, 'ZIP')),
  MATCHES: ofObject('MATCHES', [2, 3], matches),
  TRANSLATE: pure(2, 3, translate),
  VALUE: ofObject('VALUE', [2, 2], valueAt),
  PARSE_IDENTIFIER: identifierPart('PARSE_IDENTIFIER', undefined),
  PARSE_KEY: identifierPart('PARSE_KEY', 'key'),
  PARSE_COLLECTION: identifierPart('PARSE_COLLECTION', 'collection'),
};
