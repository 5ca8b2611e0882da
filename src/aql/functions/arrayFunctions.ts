import { compareValues, type JsonValue } from '../../base/index.js';
import type { EvaluationContext } from '../evaluation/EvaluationContext.js';
import { equalValues } from '../evaluation/equalValues.js';
import { rangeValues } from '../evaluation/rangeValues.js';
import { toNumber } from '../evaluation/toNumber.js';
import { isArray, isTrue } from '../evaluation/valueKinds.js';
import { distinctValues } from './distinctValues.js';
import { type Arguments, argumentOr, type FunctionDefinition, type FunctionTable, pure, wrongType } from './FunctionDefinition.js';

type List = readonly JsonValue[];
const many = Number.POSITIVE_INFINITY;

/** A function of an array; null for any other first argument, with warning 1542 unless that is null too. */
const ofArray = (name: string, shape: readonly [number, number], apply: (list: List, values: Arguments) => JsonValue): FunctionDefinition =>
  pure(shape[0], shape[1], (values, context) => {
    const list = values[0] as JsonValue;
    return isArray(list) ? apply(list, values) : wrongType(context, name);
  });

/** A function of arrays only. */
const ofArrays = (name: string, apply: (lists: readonly List[]) => JsonValue): FunctionDefinition =>
  pure(2, many, (values, context) => (values.every(isArray) ? apply(values as readonly List[]) : wrongType(context, name)));

/** A function that compares every element of its arrays with every other: its work is announced before it is done. */
const comparing = (name: string, apply: (lists: readonly List[]) => JsonValue): FunctionDefinition =>
  pure(2, many, (values, context) => {
    if (!values.every(isArray)) return wrongType(context, name);
    const lists = values as readonly List[];
    const elements = lists.reduce((sum, list) => sum + list.length, 0);
    context.step((lists[0] as List).length * elements);
    return apply(lists);
  });

const listOf = (value: JsonValue): List => (isArray(value) ? value : value === null ? [] : [value]);
const includes = (list: List, value: JsonValue): boolean => list.some((item) => equalValues(item, value));
const sorted = (list: List): JsonValue[] => [...list].sort(compareValues);
const integer = (value: JsonValue): number => Math.trunc(toNumber(value));

const append = (list: List, values: Arguments): JsonValue => {
  const joined = [...list, ...listOf(values[1] as JsonValue)];
  return isTrue(argumentOr(values, 2, false)) ? distinctValues(joined) : joined;
};

const addUnless = (list: List, values: Arguments, added: JsonValue[]): JsonValue =>
  isTrue(argumentOr(values, 2, false)) && includes(list, values[1] as JsonValue) ? list : added;

const flatten = (list: List, depth: number): JsonValue[] =>
  list.flatMap((item) => (isArray(item) ? (depth > 1 ? flatten(item, depth - 1) : [...item]) : [item]));

const slice = (list: List, values: Arguments): JsonValue => {
  const start = integer(values[1] as JsonValue);
  const from = start < 0 ? Math.max(0, list.length + start) : start;
  if (values[2] === undefined || values[2] === null) return list.slice(from);
  const length = integer(values[2]);
  return length < 0 ? list.slice(from, length) : list.slice(from, from + length);
};

/** A negative index counts from the end; undefined where it is out of bounds. */
const positionIn = (list: List, value: JsonValue): number | undefined => {
  const index = integer(value);
  const position = index < 0 ? list.length + index : index;
  return position >= 0 && position < list.length ? position : undefined;
};

const outersection = (lists: readonly List[]): JsonValue[] => {
  const counts = lists.flatMap((list) => distinctValues(list));
  return distinctValues(counts).filter((value) => counts.filter((other) => equalValues(other, value)).length === 1);
};

const intersection = (lists: readonly List[]): JsonValue[] =>
  distinctValues(lists[0] as List).filter((value) => lists.every((list) => includes(list, value)));

const minus = (lists: readonly List[]): JsonValue[] =>
  distinctValues(lists[0] as List).filter((value) => !lists.slice(1).some((list) => includes(list, value)));

const removeValue = (list: List, values: Arguments): JsonValue => {
  let left = values.length > 2 ? toNumber(values[2] as JsonValue) : many;
  return list.filter((item) => !(equalValues(item, values[1] as JsonValue) && left-- > 0));
};

const removeNth = (list: List, values: Arguments): JsonValue => {
  const position = positionIn(list, values[1] as JsonValue);
  return list.filter((_, i) => i !== position);
};

const positionOf = (list: List, values: Arguments): JsonValue => {
  const at = list.findIndex((item) => equalValues(item, values[1] as JsonValue));
  return isTrue(argumentOr(values, 2, false)) ? at : at >= 0;
};

const range = ([from, to, step]: Arguments, context: EvaluationContext): JsonValue => {
  if (step === undefined) return rangeValues(from as JsonValue, to as JsonValue, context);
  const [start, end, by] = [toNumber(from as JsonValue), toNumber(to as JsonValue), toNumber(step)];
  const count = by === 0 ? 0 : Math.floor((end - start) / by) + 1;
  return rangeValues(1, Math.max(1, count), context)
    .slice(0, Math.max(0, count))
    .map((_, i) => start + i * by);
};

/** Arrays. */
export const arrayFunctions: FunctionTable = {
  APPEND: ofArray('APPEND', [2, 3], append),
  PUSH: ofArray('PUSH', [2, 3], (list, values) => addUnless(list, values, [...list, values[1] as JsonValue])),
  UNSHIFT: ofArray('UNSHIFT', [2, 3], (list, values) => addUnless(list, values, [values[1] as JsonValue, ...list])),
  POP: ofArray('POP', [1, 1], (list) => list.slice(0, -1)),
  SHIFT: ofArray('SHIFT', [1, 1], (list) => list.slice(1)),
  FIRST: ofArray('FIRST', [1, 1], (list) => list[0] ?? null),
  LAST: ofArray('LAST', [1, 1], (list) => list.at(-1) ?? null),
  NTH: ofArray('NTH', [2, 2], (list, values) => {
    const index = integer(values[1] as JsonValue);
    return index < 0 ? null : (list[index] ?? null);
  }),
  SLICE: ofArray('SLICE', [2, 3], slice),
  REVERSE: pure(1, 1, ([value], context) => {
    if (isArray(value)) return [...value].reverse();
    return typeof value === 'string' ? [...value].reverse().join('') : wrongType(context, 'REVERSE');
  }),
  FLATTEN: ofArray('FLATTEN', [1, 2], (list, values) => flatten(list, integer(argumentOr(values, 1, 1)))),
  UNIQUE: ofArray('UNIQUE', [1, 1], (list) => distinctValues(list)),
  SORTED: ofArray('SORTED', [1, 1], sorted),
  SORTED_UNIQUE: ofArray('SORTED_UNIQUE', [1, 1], (list) => sorted(distinctValues(list))),
  COUNT_DISTINCT: ofArray('COUNT_DISTINCT', [1, 1], (list) => distinctValues(list).length),
  COUNT_UNIQUE: ofArray('COUNT_UNIQUE', [1, 1], (list) => distinctValues(list).length),
  UNION: ofArrays('UNION', (lists) => lists.flat()),
  UNION_DISTINCT: ofArrays('UNION_DISTINCT', (lists) => distinctValues(lists.flat())),
  INTERSECTION: comparing('INTERSECTION', intersection),
  OUTERSECTION: comparing('OUTERSECTION', outersection),
  MINUS: comparing('MINUS', minus),
  POSITION: ofArray('POSITION', [2, 3], positionOf),
  CONTAINS_ARRAY: ofArray('CONTAINS_ARRAY', [2, 3], positionOf),
  REMOVE_VALUE: ofArray('REMOVE_VALUE', [2, 3], removeValue),
  REMOVE_VALUES: pure(2, 2, ([list, removed], context) => {
    if (!isArray(list)) return wrongType(context, 'REMOVE_VALUES');
    const values = listOf(removed as JsonValue);
    context.step(list.length * values.length);
    return list.filter((item) => !includes(values, item));
  }),
  REMOVE_NTH: ofArray('REMOVE_NTH', [2, 2], removeNth),
  RANGE: pure(2, 3, range),
};
