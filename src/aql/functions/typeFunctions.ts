import { isObject, type JsonValue } from '../../base/index.js';
import { toNumber } from '../evaluation/toNumber.js';
import { toText } from '../evaluation/toText.js';
import { isArray, isTrue, typeName } from '../evaluation/valueKinds.js';
import { type Arguments, type FunctionTable, pure, shallow } from './FunctionDefinition.js';

const test = (check: (value: JsonValue) => boolean) => shallow(1, 1, ([value]: Arguments) => check(value as JsonValue));

const toArray = (value: JsonValue): JsonValue => {
  if (isArray(value)) return value;
  if (value === null) return [];
  return isObject(value) ? Object.values(value) : [value];
};

const isDateText = (value: JsonValue): boolean => typeof value === 'string' && /^\s*\d{4}-\d{1,2}(-\d{1,2}([T ].*)?)?\s*$/.test(value);

/** Type tests and conversions. */
export const typeFunctions: FunctionTable = {
  IS_NULL: test((value) => value === null),
  IS_BOOL: test((value) => typeof value === 'boolean'),
  IS_NUMBER: test((value) => typeof value === 'number'),
  IS_STRING: test((value) => typeof value === 'string'),
  IS_ARRAY: test(isArray),
  IS_LIST: test(isArray),
  IS_OBJECT: test(isObject),
  IS_DOCUMENT: test(isObject),
  IS_DATESTRING: test(isDateText),
  IS_KEY: test((value) => typeof value === 'string' && /^[A-Za-z0-9_\-:.@()+,=;$!*'%]{1,254}$/.test(value)),
  TYPENAME: shallow(1, 1, ([value]) => typeName(value as JsonValue)),
  TO_BOOL: test(isTrue),
  TO_NUMBER: pure(1, 1, ([value]) => toNumber(value as JsonValue)),
  TO_STRING: pure(1, 1, ([value]) => toText(value as JsonValue)),
  TO_ARRAY: shallow(1, 1, ([value]) => toArray(value as JsonValue)),
  TO_LIST: shallow(1, 1, ([value]) => toArray(value as JsonValue)),
  NOT_NULL: shallow(1, Number.POSITIVE_INFINITY, (values) => values.find((value) => value !== null) ?? null),
  FIRST_LIST: shallow(1, Number.POSITIVE_INFINITY, (values) => values.find(isArray) ?? null),
  FIRST_DOCUMENT: shallow(1, Number.POSITIVE_INFINITY, (values) => values.find(isObject) ?? null),
};
