import { isObject, type JsonValue } from '../../base/index.js';

export type JsonObject = { readonly [key: string]: JsonValue };

export const isArray = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

/** An own attribute, null where it is missing or the value is no object. */
export const attributeOf = (value: JsonValue | undefined, name: string): JsonValue =>
  isObject(value) && Object.hasOwn(value, name) ? (value[name] as JsonValue) : null;

/** AQL's truth: false are null, false, 0 and the empty string; every array and object is true. */
export const isTrue = (value: JsonValue): boolean => isArray(value) || isObject(value) || Boolean(value);

/** AQL's name of a value's type. */
export const typeName = (value: JsonValue): string => {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  return isArray(value) ? 'array' : typeof value;
};
