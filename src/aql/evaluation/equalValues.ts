import { compareValues, type JsonValue } from '../../base/index.js';

/** AQL's `==`: the order's equality, with a short cut for scalars, where the collator is not needed. */
export function equalValues(left: JsonValue, right: JsonValue): boolean {
  if (left === right) return true;
  if (typeof left === 'string' || typeof left === 'number' || typeof left === 'boolean' || left === null) return false;
  return compareValues(left, right) === 0;
}
