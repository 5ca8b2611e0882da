import type { JsonValue } from '../../base/index.js';

/** TO_STRING: null is empty, strings are themselves, all else is compact JSON. */
export function toText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}
