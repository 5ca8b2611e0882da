import { compareValues, type JsonValue } from '../../base/index.js';

/** The values without repetitions, each at its first place. Scalars by a set, arrays and objects by AQL's order. */
export function distinctValues(values: readonly JsonValue[]): JsonValue[] {
  const scalars = new Set<JsonValue>();
  const composites = values.map((value, i) => ({ value, i })).filter(({ value }) => typeof value === 'object' && value !== null);
  const repeated = new Set<number>();
  composites.sort((left, right) => compareValues(left.value, right.value) || left.i - right.i);
  for (let k = 1; k < composites.length; k++) {
    const [before, here] = [composites[k - 1], composites[k]];
    if (before && here && compareValues(before.value, here.value) === 0) repeated.add(here.i);
  }
  return values.filter((value, i) => {
    if (typeof value === 'object' && value !== null) return !repeated.has(i);
    const fresh = !scalars.has(value);
    scalars.add(value);
    return fresh;
  });
}
