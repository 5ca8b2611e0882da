import type { RE2JS } from 're2js';
import type { JsonValue } from '../../base/index.js';
import type { EvaluationContext } from '../evaluation/EvaluationContext.js';
import { compilePattern } from '../evaluation/textPatterns.js';
import { toNumber } from '../evaluation/toNumber.js';
import { toText } from '../evaluation/toText.js';
import { isTrue } from '../evaluation/valueKinds.js';
import { type Arguments, argumentOr, type FunctionDefinition, type FunctionTable, pure } from './FunctionDefinition.js';

const withPattern = (
  shape: { readonly min: number; readonly max: number; readonly ignoreCaseAt: number },
  apply: (pattern: RE2JS, text: string, values: Arguments) => JsonValue,
): FunctionDefinition =>
  pure(shape.min, shape.max, (values: Arguments, context: EvaluationContext) => {
    const ignoreCase = isTrue(argumentOr(values, shape.ignoreCaseAt, false));
    const pattern = compilePattern(toText(values[1] as JsonValue), ignoreCase, context);
    return pattern === undefined ? null : apply(pattern, toText(values[0] as JsonValue), values);
  });

const groupsOf = (pattern: RE2JS, text: string): JsonValue => {
  const matcher = pattern.matcher(text);
  if (!matcher.find()) return null;
  return Array.from({ length: matcher.groupCount() + 1 }, (_, i) => matcher.group(i) ?? '');
};

const splitBy = (pattern: RE2JS, text: string, values: Arguments): JsonValue => {
  const parts = pattern.split(text, -1) as string[];
  const limit = argumentOr(values, 3, null);
  return limit === null ? parts : parts.slice(0, Math.max(0, toNumber(limit)));
};

/** Regular expressions in RE2's syntax. */
export const regexFunctions: FunctionTable = {
  REGEX_TEST: withPattern({ min: 2, max: 3, ignoreCaseAt: 2 }, (pattern, text) => pattern.test(text)),
  REGEX_MATCHES: withPattern({ min: 2, max: 3, ignoreCaseAt: 2 }, groupsOf),
  REGEX_SPLIT: withPattern({ min: 2, max: 4, ignoreCaseAt: 2 }, splitBy),
  REGEX_REPLACE: withPattern({ min: 3, max: 4, ignoreCaseAt: 3 }, (pattern, text, values) =>
    pattern.matcher(text).replaceAll(toText(values[2] as JsonValue)),
  ),
};
