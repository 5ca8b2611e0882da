import type { JsonValue } from '../../base/index.js';
import { canonicalJson } from './canonicalJson.js';
import { isList, isSchema, type JsonType, type Schema } from './schemaKeywords.js';

/**
 * The schema that means both of two flat ones (no references, no `allOf`, types and enumerations as lists). `refuse` makes the error for
 * a keyword that cannot be merged; `payForPairs` is told how many alternatives come of one of these and one of those, before they are made.
 */
export function mergeSchemas(
  left: Schema,
  right: Schema,
  { refuse, payForPairs }: { readonly refuse: (keyword: string) => Error; readonly payForPairs: (count: number) => void },
): Schema {
  if (isList(left['anyOf']) && isList(right['anyOf'])) payForPairs(left['anyOf'].length * right['anyOf'].length);
  const merged: { [keyword: string]: JsonValue } = { ...left, ...right };
  for (const keyword of Object.keys(right)) {
    const [ours, theirs] = [left[keyword], right[keyword] as JsonValue];
    if (ours === undefined || canonicalJson(ours) === canonicalJson(theirs)) continue;
    const merge = simpleMerges.get(keyword);
    if (merge !== undefined) merged[keyword] = merge(ours, theirs);
    else if (!structural.has(keyword)) throw refuse(keyword);
  }
  return { ...merged, ...mergeProperties(left, right), ...mergeItems(left, right), ...mergeAlternatives(left, right) };
}

const structural: ReadonlySet<string> = new Set(['properties', 'additionalProperties', 'items', 'prefixItems', 'anyOf']);

const largest = (left: JsonValue, right: JsonValue): JsonValue => Math.max(left as number, right as number);
const smallest = (left: JsonValue, right: JsonValue): JsonValue => Math.min(left as number, right as number);

const simpleMerges: ReadonlyMap<string, (left: JsonValue, right: JsonValue) => JsonValue> = new Map([
  ['type', (left: JsonValue, right: JsonValue) => commonTypes(left as readonly JsonType[], right as readonly JsonType[])],
  ['enum', (left: JsonValue, right: JsonValue) => commonValues(left as readonly JsonValue[], right as readonly JsonValue[])],
  ['required', (left: JsonValue, right: JsonValue) => [...new Set([...(left as string[]), ...(right as string[])])]],
  ...['minimum', 'exclusiveMinimum', 'minLength', 'minItems'].map((keyword) => [keyword, largest] as const),
  ...['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'].map((keyword) => [keyword, smallest] as const),
]);

function commonTypes(left: readonly JsonType[], right: readonly JsonType[]): readonly JsonType[] {
  const within = (type: JsonType, types: readonly JsonType[]): boolean =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...left.filter((type) => within(type, right)), ...right.filter((type) => within(type, left))])];
}

function commonValues(left: readonly JsonValue[], right: readonly JsonValue[]): readonly JsonValue[] {
  const known = new Set(right.map(canonicalJson));
  return left.filter((value) => known.has(canonicalJson(value)));
}

const both = (...schemas: readonly (JsonValue | undefined)[]): JsonValue => {
  const given = schemas.filter((schema): schema is JsonValue => schema !== undefined);
  return given.length === 1 ? (given[0] as JsonValue) : { allOf: given };
};

/** A property that one side does not name is subject to that side's `additionalProperties`. */
function mergeProperties(left: Schema, right: Schema): Schema {
  const [ours, theirs] = [propertiesOf(left), propertiesOf(right)];
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  const properties = Object.fromEntries(
    [...names].map((name) => [
      name,
      both(ours.get(name) ?? left['additionalProperties'], theirs.get(name) ?? right['additionalProperties']),
    ]),
  );
  const additional = [left['additionalProperties'], right['additionalProperties']];
  return {
    ...(names.size > 0 && { properties }),
    ...(additional.some((schema) => schema !== undefined) && { additionalProperties: both(...additional) }),
  };
}

const propertiesOf = (schema: Schema): ReadonlyMap<string, JsonValue> =>
  new Map(isSchema(schema['properties']) ? Object.entries(schema['properties']) : []);

/** An item beyond one side's prefix is subject to that side's `items`. */
function mergeItems(left: Schema, right: Schema): Schema {
  const [ours, theirs] = [prefixOf(left), prefixOf(right)];
  const prefixItems = Array.from({ length: Math.max(ours.length, theirs.length) }, (_, place) =>
    both(ours[place] ?? left['items'], theirs[place] ?? right['items']),
  );
  const items = [left['items'], right['items']];
  return {
    ...(prefixItems.length > 0 && { prefixItems }),
    ...(items.some((schema) => schema !== undefined) && { items: both(...items) }),
  };
}

const prefixOf = (schema: Schema): readonly JsonValue[] => (isList(schema['prefixItems']) ? schema['prefixItems'] : []);

/** One of these and one of those: each pair is an alternative. */
function mergeAlternatives(left: Schema, right: Schema): Schema {
  const [ours, theirs] = [left['anyOf'], right['anyOf']];
  if (!isList(ours) || !isList(theirs)) return {};
  return { anyOf: ours.flatMap((mine) => theirs.map((yours) => both(mine, yours))) };
}
