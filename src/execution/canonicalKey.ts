import type { JsonValue } from '../base/index.js';

const withoutTrailingNulls = (values: readonly JsonValue[]): readonly JsonValue[] => {
  const last = values.findLastIndex((value) => value !== null);
  return values.slice(0, last + 1);
};

/**
 * A text that is equal for equal values of AQL: attributes in order, null attributes and trailing nulls left out, since a missing value
 * equals null.
 */
export function canonicalKey(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value !== 'object') return JSON.stringify(Object.is(value, -0) ? 0 : value);
  if (Array.isArray(value))
    return `[${withoutTrailingNulls(value as readonly JsonValue[])
      .map(canonicalKey)
      .join()}]`;
  const present = Object.entries(value as { readonly [name: string]: JsonValue }).filter(([, item]) => item !== null);
  present.sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${present.map(([name, item]) => `${JSON.stringify(name)}:${canonicalKey(item)}`).join()}}`;
}
