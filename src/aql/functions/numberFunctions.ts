import { compareValues, type JsonValue } from '../../base/index.js';
import { toNumber } from '../evaluation/toNumber.js';
import { isArray } from '../evaluation/valueKinds.js';
import { type Arguments, type FunctionDefinition, type FunctionTable, pure, wrongType } from './FunctionDefinition.js';

const finite = (value: number): JsonValue => (Number.isFinite(value) ? value : null);
const ofNumber = (apply: (value: number) => number): FunctionDefinition =>
  pure(1, 1, ([value]) => finite(apply(toNumber(value as JsonValue))));

/** Over the non-null members of an array; `numeric` makes any other member answer null with a warning. */
const overList = (name: string, numeric: boolean, apply: (values: readonly JsonValue[]) => JsonValue): FunctionDefinition =>
  pure(1, 1, ([list], context) => {
    if (!isArray(list)) return wrongType(context, name);
    const values = list.filter((value) => value !== null);
    if (numeric && !values.every((value) => typeof value === 'number')) return wrongType(context, name);
    return apply(values);
  });

const overNumbers = (name: string, apply: (values: readonly number[]) => JsonValue): FunctionDefinition =>
  overList(name, true, (values) => apply(values as readonly number[]));

const extreme = (values: readonly JsonValue[], sign: 1 | -1): JsonValue =>
  values.reduce<JsonValue>((best, value) => (best === null || sign * compareValues(value, best) > 0 ? value : best), null);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const average = (values: readonly number[]): JsonValue => (values.length === 0 ? null : finite(sum(values) / values.length));

/** Welford's update, since the textbook formula loses all digits for large means. */
const variance = (values: readonly number[], lost: 0 | 1): JsonValue => {
  let mean = 0;
  let squares = 0;
  for (const [i, value] of values.entries()) {
    const difference = value - mean;
    mean += difference / (i + 1);
    squares += difference * (value - mean);
  }
  return values.length > lost ? finite(squares / (values.length - lost)) : null;
};

const root = (value: JsonValue): JsonValue => (value === null ? null : Math.sqrt(value as number));

const median = (values: readonly number[]): JsonValue => {
  if (values.length === 0) return null;
  const ordered = [...values].sort((left, right) => left - right);
  const middle = ordered.length >> 1;
  const upper = ordered[middle] as number;
  return ordered.length % 2 === 1 ? upper : finite(((ordered[middle - 1] as number) + upper) / 2);
};

const roundHalfUp = (value: number): number => Math.floor(value + 0.5);

const inRange = ([value, low, high, includeLow, includeHigh]: Arguments): JsonValue => {
  const fromLow = compareValues(value, low);
  const fromHigh = compareValues(value, high);
  return (fromLow > 0 || (fromLow === 0 && Boolean(includeLow))) && (fromHigh < 0 || (fromHigh === 0 && Boolean(includeHigh)));
};

const averageFunction = overNumbers('AVERAGE', average);

/** Numbers and statistics; a result that is no finite number is null. */
export const numberFunctions: FunctionTable = {
  ABS: ofNumber(Math.abs),
  CEIL: ofNumber(Math.ceil),
  FLOOR: ofNumber(Math.floor),
  ROUND: ofNumber(roundHalfUp),
  SQRT: ofNumber(Math.sqrt),
  EXP: ofNumber(Math.exp),
  EXP2: ofNumber((value) => 2 ** value),
  LOG: ofNumber(Math.log),
  LOG2: ofNumber(Math.log2),
  LOG10: ofNumber(Math.log10),
  SIN: ofNumber(Math.sin),
  COS: ofNumber(Math.cos),
  TAN: ofNumber(Math.tan),
  ASIN: ofNumber(Math.asin),
  ACOS: ofNumber(Math.acos),
  ATAN: ofNumber(Math.atan),
  ATAN2: pure(2, 2, ([y, x]) => finite(Math.atan2(toNumber(y as JsonValue), toNumber(x as JsonValue)))),
  RADIANS: ofNumber((value) => (value * Math.PI) / 180),
  DEGREES: ofNumber((value) => (value * 180) / Math.PI),
  POW: pure(2, 2, ([base, exponent]) => finite(toNumber(base as JsonValue) ** toNumber(exponent as JsonValue))),
  PI: pure(0, 0, () => Math.PI),
  MIN: overList('MIN', false, (values) => extreme(values, -1)),
  MAX: overList('MAX', false, (values) => extreme(values, 1)),
  SUM: overNumbers('SUM', (values) => finite(sum(values))),
  AVG: averageFunction,
  AVERAGE: averageFunction,
  PRODUCT: overNumbers('PRODUCT', (values) => finite(values.reduce((total, value) => total * value, 1))),
  MEDIAN: overNumbers('MEDIAN', median),
  VARIANCE: overNumbers('VARIANCE', (values) => variance(values, 0)),
  VARIANCE_POPULATION: overNumbers('VARIANCE_POPULATION', (values) => variance(values, 0)),
  VARIANCE_SAMPLE: overNumbers('VARIANCE_SAMPLE', (values) => variance(values, 1)),
  STDDEV: overNumbers('STDDEV', (values) => root(variance(values, 0))),
  STDDEV_POPULATION: overNumbers('STDDEV_POPULATION', (values) => root(variance(values, 0))),
  STDDEV_SAMPLE: overNumbers('STDDEV_SAMPLE', (values) => root(variance(values, 1))),
  IN_RANGE: pure(5, 5, inRange),
};
