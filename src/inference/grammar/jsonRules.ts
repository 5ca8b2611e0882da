import { codePoints } from './codePoints.js';
import { type Expression, expr, type Range, type Rules } from './Expression.js';

const many = Number.POSITIVE_INFINITY;
const digit: Range = { from: 48, to: 57 };
/** Must be escaped in a string: controls, the quote, the backslash. */
const escaped: readonly Range[] = [
  { from: 0, to: 31 },
  { from: 34, to: 34 },
  { from: 92, to: 92 },
];
const { text, chars, sequence, choice, repeat, optional, rule } = expr;
const oneOf = (set: string): Expression => chars(...[...set].map((char) => ({ from: char.charCodeAt(0), to: char.charCodeAt(0) })));
const digits = (min: number, max: number): Expression => repeat(chars(digit), min, max);
const hexDigits = (count: number): Expression => repeat(oneOf('0123456789abcdefABCDEF'), count, count);
/** Four digits that name no half of a surrogate pair. */
const unicodeEscape = choice(sequence(oneOf('0123456789abcefABCEF'), hexDigits(3)), sequence(oneOf('dD'), oneOf('01234567'), hexDigits(2)));

/** Characters that stand for themselves in a string. */
export const plainStringChars: readonly Range[] = codePoints.complement(escaped);

/** `open body close` with white space inside; without a body there is at most one white space. */
export const bracketed = (open: string, body: Expression, close: string): Expression =>
  sequence(text(open), rule('json.space'), body, text(close));

/**
 * JSON as it is written here: a text of RFC 8259 without what a model could repeat for ever. White space is a space, or a line end with
 * at most 16 spaces or tabs, after `{ [ ,` and before `} ]`; after a colon a space at most. A number has at most 15 digits, 15 decimals
 * and an exponent of two digits.
 */
export const jsonRules: Rules = new Map([
  ['json.space', optional(choice(text(' '), sequence(text('\n'), repeat(oneOf(' \t'), 0, 16))))],
  ['json.colon', sequence(text(':'), optional(text(' ')))],
  ['json.comma', sequence(text(','), rule('json.space'))],
  ['json.char', choice(chars(...plainStringChars), sequence(text('\\'), choice(oneOf('"\\/bfnrt'), sequence(text('u'), unicodeEscape))))],
  ['json.string', sequence(text('"'), repeat(rule('json.char'), 0, many), text('"'))],
  ['json.integer', choice(text('0'), sequence(optional(text('-')), chars({ from: 49, to: 57 }), digits(0, 14)))],
  [
    'json.number',
    sequence(
      optional(text('-')),
      choice(text('0'), sequence(chars({ from: 49, to: 57 }), digits(0, 14))),
      optional(sequence(text('.'), digits(1, 15))),
      optional(sequence(oneOf('eE'), optional(oneOf('+-')), digits(1, 2))),
    ),
  ],
  ['json.boolean', choice(text('true'), text('false'))],
  ['json.null', text('null')],
  ['json.pair', sequence(rule('json.string'), rule('json.colon'), rule('json.value'))],
  ['json.object', bracketed('{', optional(sequence(listOf(rule('json.pair')), rule('json.space'))), '}')],
  ['json.array', bracketed('[', optional(sequence(listOf(rule('json.value')), rule('json.space'))), ']')],
  ['json.value', choice(...['object', 'array', 'string', 'number', 'boolean', 'null'].map((name) => rule(`json.${name}`)))],
  ['json.container', choice(rule('json.object'), rule('json.array'))],
]);

/** One or more, with commas. */
function listOf(item: Expression): Expression {
  return sequence(item, repeat(sequence(rule('json.comma'), item), 0, many));
}
