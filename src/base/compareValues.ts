import type { JsonValue } from './JsonValue.js';

// Upper case first and a code-unit tie-break: ArangoDB's order of strings. The version of ICU is stored with each index (ARCHITECTURE).
const collator = new Intl.Collator('en', { caseFirst: 'upper' });

const rankOf = (value: JsonValue | undefined): number => {
  if (value === null || value === undefined) return 0;
  if (typeof value === 'boolean') return 1;
  if (typeof value === 'number') return 2;
  if (typeof value === 'string') return 3;
  return Array.isArray(value) ? 4 : 5;
};

const compareStrings = (left: string, right: string): number => {
  if (left === right) return 0;
  return collator.compare(left, right) || (left < right ? -1 : 1);
};

const compareArrays = (left: readonly JsonValue[], right: readonly JsonValue[]): number => {
  const length = Math.max(left.length, right.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(left[i], right[i]);
    if (order !== 0) return order;
  }
  return 0;
};

type JsonObject = { readonly [key: string]: JsonValue };

const compareObjects = (left: JsonObject, right: JsonObject): number => {
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort(compareStrings);
  for (const key of keys) {
    const order = compareValues(Object.hasOwn(left, key) ? left[key] : null, Object.hasOwn(right, key) ? right[key] : null);
    if (order !== 0) return order;
  }
  return 0;
};

/**
 * AQL's total order: null < bool < number < string < array < object; a missing value equals null. Used by SORT, comparison operators,
 * and indexes alike, since an index in another order would disagree with SORT.
 */
export function compareValues(left: JsonValue | undefined, right: JsonValue | undefined): number {
  const rank = rankOf(left);
  const difference = rank - rankOf(right);
  if (difference !== 0) return difference;
  if (rank === 0) return 0;
  if (rank === 3) return compareStrings(left as string, right as string);
  if (rank === 4) return compareArrays(left as readonly JsonValue[], right as readonly JsonValue[]);
  if (rank === 5) return compareObjects(left as JsonObject, right as JsonObject);
  return Number(left) - Number(right);
}
