import type { OstrakaError } from '../../base/index.js';
import { aqlError } from '../errors.js';
import { positionOf } from './positionOf.js';

const nearCharactersMax = 30;

const nearText = (text: string, at: number): string => {
  const near = text
    .slice(at, at + nearCharactersMax)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return at + nearCharactersMax < text.length ? `${near}…` : near;
};

/**
 * The error 1501 of the parser: what is wrong, line:column, the text there, what was expected, and a hint.
 * `data`: line, column, near, expected.
 */
export function parseErrorAt(
  place: { readonly text: string; readonly at: number },
  problem: string,
  details: { readonly expected?: readonly string[]; readonly hint?: string } = {},
): OstrakaError {
  const { line, column } = positionOf(place.text, place.at);
  const near = nearText(place.text, place.at);
  const where = near === '' ? `at ${line}:${column} (end of the query)` : `at ${line}:${column} near '${near}'`;
  const expected = details.expected ?? [];
  const expectation = expected.length > 0 ? `: expected ${expected.join(' or ')}` : '';
  const hint = details.hint ? ` (${details.hint})` : '';
  return aqlError('AQL_PARSE', `${problem} ${where}${expectation}${hint}`, { data: { line, column, near, expected: [...expected] } });
}
