import type { JsonValue } from '../../base/index.js';
import { demandDepth } from './demandDepth.js';

const scalarBytes = 8;
const containerBytes = 32;

/**
 * About how many bytes of memory a value takes: two a character, eight a number, a little for every container and attribute. Values share
 * their parts and may have more leaves than memory could hold, so the walk ends soon after `limitBytes`. Errors: AQL_NESTING_TOO_DEEP.
 */
export function sizeOfValue(value: JsonValue | undefined, limitBytes: number, depth = 1): number {
  if (typeof value === 'string') return scalarBytes + 2 * value.length;
  if (typeof value !== 'object' || value === null) return scalarBytes;
  demandDepth(depth);
  let bytes = containerBytes;
  const items = Array.isArray(value) ? value : Object.values(value);
  if (!Array.isArray(value)) for (const name of Object.keys(value)) bytes += scalarBytes + name.length;
  for (const item of items) {
    if (bytes > limitBytes) return bytes;
    bytes += sizeOfValue(item as JsonValue, limitBytes - bytes, depth + 1);
  }
  return bytes;
}
