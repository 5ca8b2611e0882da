import { baseError, type OstrakaError } from '../../base/index.js';
import { positionOf } from './positionOf.js';

/** A construct of AQL that is documented but absent: NOT_SUPPORTED, naming the construct, its place and the requirement. */
export function notSupported(place: { readonly text: string; readonly at: number }, construct: string, requirement: string): OstrakaError {
  const { line, column } = positionOf(place.text, place.at);
  const message = `${construct} at ${line}:${column} is not available in this version (${requirement})`;
  return baseError('NOT_SUPPORTED', message, { data: { construct, requirement, line, column } });
}
