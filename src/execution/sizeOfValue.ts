import type { JsonValue } from '../base/index.js';

const scalarBytes = 8;
const containerBytes = 32;

/** About how many bytes of memory a value takes: two a character, eight a number, a little for every container and attribute. */
export function sizeOfValue(value: JsonValue | undefined): number {
  if (typeof value === 'string') return scalarBytes + 2 * value.length;
  if (typeof value !== 'object' || value === null) return scalarBytes;
  let bytes = containerBytes;
  if (Array.isArray(value)) {
    for (const item of value) bytes += sizeOfValue(item);
    return bytes;
  }
  for (const [name, item] of Object.entries(value)) bytes += scalarBytes + name.length + sizeOfValue(item);
  return bytes;
}
