import type { OstrakaError } from '../../base/index.js';
import { aqlError, type aqlErrors } from '../errors.js';
import { positionOf } from './positionOf.js';

/** An error of the language at a place of the query text: `<message> at <line>:<column> near '<text>'`; `data` has line and column. */
export function aqlErrorAt(
  code: keyof typeof aqlErrors,
  place: { readonly text: string; readonly at: number },
  message: string,
): OstrakaError {
  const { line, column } = positionOf(place.text, place.at);
  return aqlError(code, `${message} at ${line}:${column}`, { data: { line, column } });
}
