import { type JsonValue, xxh64 } from '../../base/index.js';
import type { EvaluationContext } from '../evaluation/EvaluationContext.js';
import { toNumber } from '../evaluation/toNumber.js';
import { type FunctionDefinition, type FunctionTable, pure } from './FunctionDefinition.js';

const volatile = (min: number, max: number, evaluate: FunctionDefinition['evaluate']): FunctionDefinition => ({
  argumentsMin: min,
  argumentsMax: max,
  deterministic: false,
  walks: false,
  evaluate,
});

const hexDigits = (context: EvaluationContext, count: number): string =>
  Array.from({ length: count }, () => Math.floor(context.random() * 16).toString(16)).join('');

const uuid = (context: EvaluationContext): string => {
  const variant = '89ab'[Math.floor(context.random() * 4)];
  const parts = [
    hexDigits(context, 8),
    hexDigits(context, 4),
    `4${hexDigits(context, 3)}`,
    `${variant}${hexDigits(context, 3)}`,
    hexDigits(context, 12),
  ];
  return parts.join('-');
};

const tokenAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const tokenCharactersMax = 65_536;

const randomToken = (length: JsonValue, context: EvaluationContext): JsonValue => {
  const count = Math.trunc(toNumber(length));
  if (count < 0 || count > tokenCharactersMax) return null;
  return Array.from({ length: count }, () => tokenAlphabet[Math.floor(context.random() * tokenAlphabet.length)]).join('');
};

/** The day count of proleptic ISO dates: Date.UTC is arithmetic, it reads no clock. */
const timestampOf = (value: JsonValue): number | null => {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return null;
  const match =
    /^\s*(\d{4})-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,3})\d*)?)?)?)?(Z|([+-])(\d{2}):?(\d{2}))?\s*$/i.exec(
      value,
    );
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((i) => Number(match[i] ?? (i === 3 ? 1 : 0)));
  const milliseconds = Number((match[7] ?? '0').padEnd(3, '0'));
  const shift = (Number(match[10] ?? 0) * 60 + Number(match[11] ?? 0)) * 60_000 * (match[9] === '-' ? -1 : 1);
  return Date.UTC(year as number, (month as number) - 1, day, hour, minute, second, milliseconds) - shift;
};

/** Smallest and largest millisecond a Date can hold (ECMA-262 §21.4.1.1). */
const dateMsMax = 8.64e15;

const withTimestamp = (apply: (timestampMs: number) => JsonValue): FunctionDefinition =>
  pure(1, 1, ([value], context) => {
    const timestampMs = timestampOf(value as JsonValue);
    if (timestampMs !== null && Math.abs(timestampMs) <= dateMsMax) return apply(timestampMs);
    context.warn(1570, 'invalid date value');
    return null;
  });

const part = (read: (date: Date) => number): FunctionDefinition => withTimestamp((timestampMs) => read(new Date(timestampMs)));

/** Values of the query's surroundings, hashes, dates. Time and chance come from the context. */
export const miscFunctions: FunctionTable = {
  RAND: volatile(0, 0, (_, context) => context.random()),
  UUID: volatile(0, 0, (_, context) => uuid(context)),
  RANDOM_TOKEN: volatile(1, 1, ([length], context) => randomToken(length as JsonValue, context)),
  DATE_NOW: pure(0, 0, (_, context) => context.nowMs),
  DATE_TIMESTAMP: withTimestamp((timestampMs) => timestampMs),
  DATE_ISO8601: withTimestamp((timestampMs) => new Date(timestampMs).toISOString()),
  DATE_YEAR: part((date) => date.getUTCFullYear()),
  DATE_MONTH: part((date) => date.getUTCMonth() + 1),
  DATE_DAY: part((date) => date.getUTCDate()),
  DATE_HOUR: part((date) => date.getUTCHours()),
  DATE_MINUTE: part((date) => date.getUTCMinutes()),
  DATE_SECOND: part((date) => date.getUTCSeconds()),
  DATE_MILLISECOND: part((date) => date.getUTCMilliseconds()),
  DATE_DAYOFWEEK: part((date) => date.getUTCDay()),
  HASH: pure(1, 1, ([value]) => Number(xxh64(JSON.stringify(value as JsonValue)) >> 11n)),
  NOOPT: volatile(1, 1, ([value]) => value as JsonValue),
  PASSTHRU: pure(1, 1, ([value]) => value as JsonValue),
};
