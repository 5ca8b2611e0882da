import { cliError } from './errors.js';

/**
 * `name=value` of --bind: JSON, or a string without its quotes, since nobody wants to quote twice in a shell. What could be meant as
 * another value than the string is not guessed at. Errors: USAGE.
 */
export function parseBind(text: string): [name: string, value: unknown] {
  const at = text.indexOf('=');
  if (at < 1) throw cliError('USAGE', `--bind ${text}: give name=json`);
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  const parsed = parseJson(value);
  if (parsed.isJson && isFiniteThroughout(parsed.value)) return [name, parsed.value];
  if (!parsed.isJson && !looksLikeAnotherValue(value.trim())) return [name, value];
  const quoted = JSON.stringify(value);
  throw cliError(
    'USAGE',
    `--bind ${text.slice(0, 200)}: the value is neither JSON nor a plain word; as a string: --bind '${name}=${quoted.slice(0, 200)}'`,
  );
}

const parseJson = (text: string): { readonly isJson: boolean; readonly value: unknown } => {
  try {
    return { isJson: true, value: JSON.parse(text) };
  } catch {
    return { isJson: false, value: undefined };
  }
};

// 1e999 is JSON, but would be sent as null.
const isFiniteThroughout = (value: unknown): boolean => {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(isFiniteThroughout);
};

const words = new Set(['true', 'false', 'null', 'undefined', 'none', 'nan', 'infinity', 'inf']);

const looksLikeAnotherValue = (text: string): boolean =>
  /^["'`[{]/.test(text) || words.has(text.toLowerCase().replace(/^[+-]/, '')) || looksLikeNumber(text);

/** Digits with signs, points, grouping or an exponent, and other bases; a date or `3 apples` is not one. */
const looksLikeNumber = (text: string): boolean =>
  text !== '' && (!Number.isNaN(Number(text)) || /^[+-]*[\d.,_ ']*\d[\d.,_ ']*(e[+-]?\d*)?n?$/i.test(text));
