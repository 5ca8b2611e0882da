import { isObject, type JsonValue, sha256Hex, utf8 } from '../../base/index.js';
import { demandDepth } from '../evaluation/demandDepth.js';
import type { EvaluationContext } from '../evaluation/EvaluationContext.js';
import { matchesLike } from '../evaluation/textPatterns.js';
import { textSteps } from '../evaluation/textSteps.js';
import { toNumber } from '../evaluation/toNumber.js';
import { toText } from '../evaluation/toText.js';
import { isArray, isTrue } from '../evaluation/valueKinds.js';
import { aqlLimits } from '../limits.js';
import { type Arguments, argumentOr, type FunctionTable, pure, shallow, wrongType } from './FunctionDefinition.js';
import { md5Hex } from './md5Hex.js';

const many = Number.POSITIVE_INFINITY;
const text = (values: Arguments, index: number): string => toText(argumentOr(values, index, null));
const characters = (value: string): string[] => [...value];

/** Looks at the length before the text is made. */
const isBounded = (length: number, context: EvaluationContext): boolean => {
  if (length <= aqlLimits.stringCharactersMax) return true;
  context.warn(32, `a string of more than ${aqlLimits.stringCharactersMax} characters was not made`);
  return false;
};

const bounded = (result: string, context: EvaluationContext): JsonValue => (isBounded(result.length, context) ? result : null);

const joined = (parts: readonly string[], separator: string, context: EvaluationContext): JsonValue => {
  const length = parts.reduce((sum, part) => sum + part.length, separator.length * Math.max(0, parts.length - 1));
  return isBounded(length, context) ? parts.join(separator) : null;
};

/** Without making them. */
const charactersIn = (value: string): number => {
  let count = value.length;
  for (let at = 0; at < value.length - 1; at++) {
    const isPair = (value.charCodeAt(at) & 0xfc00) === 0xd800 && (value.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
    if (isPair) at++;
    if (isPair) count--;
  }
  return count;
};

const lengthOf = (value: JsonValue): number => {
  if (value === null) return 0;
  if (isArray(value)) return value.length;
  if (isObject(value)) return Object.keys(value).length;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return charactersIn(toText(value));
};

const substring = (values: Arguments): JsonValue => {
  const all = characters(text(values, 0));
  const offset = Math.trunc(toNumber(values[1] as JsonValue));
  const start = offset < 0 ? Math.max(0, all.length + offset) : offset;
  const length = values.length > 2 ? Math.trunc(toNumber(values[2] as JsonValue)) : all.length;
  return length <= 0 ? '' : all.slice(start, start + length).join('');
};

/** TRIM's second argument: characters to strip, or 0 both, 1 left, 2 right (white space). */
const trim = (values: Arguments, left: boolean, right: boolean): string => {
  const option = argumentOr(values, 1, null);
  const strip = typeof option === 'string' ? new Set(characters(option)) : undefined;
  const all = characters(text(values, 0));
  const blank = (character: string | undefined) => character !== undefined && (strip ? strip.has(character) : /\s/.test(character));
  let start = 0;
  let end = all.length;
  while (left && start < end && blank(all[start])) start++;
  while (right && end > start && blank(all[end - 1])) end--;
  return all.slice(start, end).join('');
};

const trimBoth = (values: Arguments): string => {
  const side = typeof values[1] === 'number' ? values[1] : 0;
  return trim(values, side !== 2, side !== 1);
};

const split = (values: Arguments, context: EvaluationContext): JsonValue => {
  const limit = values.length > 2 ? Math.trunc(toNumber(values[2] as JsonValue)) : undefined;
  const separator = argumentOr(values, 1, null);
  if (values.length < 2) return [text(values, 0)];
  const separators = isArray(separator) ? separator.map(toText) : [toText(separator)];
  context.step(separators.length * textSteps.ofWalk(text(values, 0).length));
  const parts = separators.reduce((pieces, one) => pieces.flatMap((piece) => piece.split(one)), [text(values, 0)]);
  return limit === undefined || limit < 0 ? parts : parts.slice(0, limit);
};

const substitutions = (values: Arguments): readonly (readonly [string, string])[] => {
  const search = values[1] as JsonValue;
  if (isObject(search)) return Object.entries(search).map(([from, to]) => [from, toText(to)]);
  const replacement = argumentOr(values, 2, '');
  if (!isArray(search)) return [[toText(search), toText(isArray(replacement) ? (replacement[0] ?? '') : replacement)]];
  return search.map((from, i) => [toText(from), isArray(replacement) ? toText(replacement[i] ?? '') : toText(replacement)]);
};

/** One pass over the text: what a substitution wrote is not searched again. */
const substitute = (values: Arguments, context: EvaluationContext): string => {
  const pairs = substitutions(values).filter(([from]) => from !== '');
  const limitAt = isObject(values[1] as JsonValue) ? 2 : 3;
  let left = values.length > limitAt ? toNumber(values[limitAt] as JsonValue) : many;
  const source = text(values, 0);
  context.step(pairs.length * textSteps.ofWalk(source.length));
  let result = '';
  let offset = 0;
  while (offset < source.length) {
    const pair = left > 0 ? pairs.find(([from]) => source.startsWith(from, offset)) : undefined;
    result += pair ? pair[1] : source[offset];
    offset += pair ? pair[0].length : 1;
    if (pair) left--;
  }
  return result;
};

const contains = (values: Arguments): JsonValue => {
  const at = text(values, 0).indexOf(text(values, 1));
  if (!isTrue(argumentOr(values, 2, false))) return at >= 0;
  return at < 0 ? -1 : charactersIn(text(values, 0).slice(0, at));
};

const find = (values: Arguments, last: boolean): number => {
  const all = characters(text(values, 0));
  const start = Math.max(0, toNumber(argumentOr(values, 2, 0)));
  const end = values[3] === undefined || values[3] === null ? all.length : toNumber(values[3]) + 1;
  const part = all.slice(start, end).join('');
  const at = last ? part.lastIndexOf(text(values, 1)) : part.indexOf(text(values, 1));
  return at < 0 ? -1 : start + charactersIn(part.slice(0, at));
};

const startsWith = (values: Arguments): boolean => {
  const prefix = values[1] as JsonValue;
  const prefixes = isArray(prefix) ? prefix.map(toText) : [toText(prefix)];
  return prefixes.some((one) => text(values, 0).startsWith(one));
};

const levenshtein = (left: string[], right: string[]): number => {
  let last = Array.from({ length: right.length + 1 }, (_, i) => i);
  for (const [i, character] of left.entries()) {
    const current = [i + 1];
    for (const [j, other] of right.entries())
      current.push(Math.min((last[j + 1] as number) + 1, (current[j] as number) + 1, (last[j] as number) + (character === other ? 0 : 1)));
    last = current;
  }
  return last[right.length] as number;
};

const depthOfJson = (source: string): number => {
  let [depth, deepest] = [0, 0];
  let inText = false;
  for (let i = 0; i < source.length; i++) {
    const character = source[i];
    if (inText && character === '\\') i++;
    else if (character === '"') inText = !inText;
    else if (!inText && (character === '[' || character === '{')) deepest = Math.max(deepest, ++depth);
    else if (!inText && (character === ']' || character === '}')) depth--;
  }
  return deepest;
};

const parseJson = (source: string): JsonValue => {
  try {
    return JSON.parse(source) as JsonValue;
  } catch {
    return null; // ArangoDB's answer to malformed text: null and a warning, which the caller adds.
  }
};

const jsonParse = (values: Arguments, context: EvaluationContext): JsonValue => {
  demandDepth(depthOfJson(text(values, 0)));
  const value = parseJson(text(values, 0));
  if (value === null && text(values, 0).trim() !== 'null') context.warn(1542, "invalid JSON in call to function 'JSON_PARSE()'");
  return value;
};

const base64Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const toBase64 = (bytes: Uint8Array): string => {
  let result = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const word = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    const encoded = [18, 12, 6, 0].map((shift) => base64Alphabet[(word >> shift) & 63]).join('');
    result += i + 2 < bytes.length ? encoded : encoded.slice(0, bytes.length - i + 1).padEnd(4, '=');
  }
  return result;
};

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

const toHex = (bytes: Uint8Array): string => {
  let result = '';
  for (const byte of bytes) result += hexOfByte[byte];
  return result;
};

const repeat = (values: Arguments, context: EvaluationContext): JsonValue => {
  const count = Math.trunc(toNumber(values[1] as JsonValue));
  if (count < 0) return wrongType(context, 'REPEAT');
  const [one, separator] = [text(values, 0), text(values, 2)];
  if (count === 0) return '';
  if (!isBounded((one.length + separator.length) * count - separator.length, context)) return null;
  return (one + separator).repeat(count - 1) + one;
};

const concatSeparator = (values: Arguments, context: EvaluationContext): JsonValue => {
  const parts = values.slice(1).flatMap((value) => (isArray(value) ? value : [value]));
  return joined(parts.filter((part) => part !== null).map(toText), text(values, 0), context);
};

/** Strings: positions and lengths count Unicode characters. */
export const stringFunctions: FunctionTable = {
  CONCAT: pure(1, many, (values, context) =>
    joined((values.length === 1 && isArray(values[0]) ? values[0] : values).map(toText), '', context),
  ),
  CONCAT_SEPARATOR: pure(2, many, concatSeparator),
  LENGTH: shallow(1, 1, ([value]) => lengthOf(value as JsonValue)),
  COUNT: shallow(1, 1, ([value]) => lengthOf(value as JsonValue)),
  CHAR_LENGTH: shallow(1, 1, (values) => charactersIn(text(values, 0))),
  LOWER: pure(1, 1, (values) => text(values, 0).toLowerCase()),
  UPPER: pure(1, 1, (values) => text(values, 0).toUpperCase()),
  SUBSTRING: pure(2, 3, substring),
  LEFT: pure(2, 2, (values) =>
    characters(text(values, 0))
      .slice(0, Math.max(0, toNumber(values[1] as JsonValue)))
      .join(''),
  ),
  RIGHT: pure(2, 2, (values) => {
    const count = Math.trunc(toNumber(values[1] as JsonValue));
    return count <= 0 ? '' : characters(text(values, 0)).slice(-count).join('');
  }),
  TRIM: pure(1, 2, trimBoth),
  LTRIM: pure(1, 2, (values) => trim(values, true, false)),
  RTRIM: pure(1, 2, (values) => trim(values, false, true)),
  SPLIT: pure(1, 3, split),
  SUBSTITUTE: pure(2, 4, (values, context) => bounded(substitute(values, context), context)),
  CONTAINS: pure(2, 3, contains),
  FIND_FIRST: pure(2, 4, (values) => find(values, false)),
  FIND_LAST: pure(2, 4, (values) => find(values, true)),
  STARTS_WITH: pure(2, 2, startsWith),
  LIKE: pure(2, 3, (values, context) => matchesLike(text(values, 0), text(values, 1), isTrue(argumentOr(values, 2, false)), context)),
  JSON_PARSE: pure(1, 1, jsonParse),
  JSON_STRINGIFY: pure(1, 1, ([value]) => JSON.stringify(value as JsonValue)),
  MD5: pure(1, 1, (values) => md5Hex(text(values, 0))),
  SHA256: pure(1, 1, (values) => sha256Hex(text(values, 0))),
  TO_BASE64: pure(1, 1, (values) => toBase64(utf8.encode(text(values, 0)))),
  TO_HEX: pure(1, 1, (values) => toHex(utf8.encode(text(values, 0)))),
  REPEAT: pure(2, 3, repeat),
  LEVENSHTEIN_DISTANCE: pure(2, 2, (values, context) => {
    const [left, right] = [characters(text(values, 0)), characters(text(values, 1))];
    context.step(left.length * right.length);
    return levenshtein(left, right);
  }),
};
