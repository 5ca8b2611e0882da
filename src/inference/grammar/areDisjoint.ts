import type { JsonValue } from '../../base/index.js';
import { canonicalJson } from './canonicalJson.js';
import { isList, isSchema, type JsonType, type Schema } from './schemaKeywords.js';

const depthMax = 8;

/**
 * No value satisfies both schemas, for a reason that is found: other types, other values, or a property that both require and that is
 * disjoint itself. `flatten` resolves references; false = the schema that nothing satisfies. Undecided is false.
 */
export function areDisjoint(left: JsonValue, right: JsonValue, flatten: (schema: JsonValue) => Schema | false, depth = 0): boolean {
  const [ours, theirs] = [flatten(left), flatten(right)];
  if (ours === false || theirs === false) return true;
  if (depth >= depthMax) return false;
  const within = (one: JsonValue, other: JsonValue): boolean => areDisjoint(one, other, flatten, depth + 1);
  return (
    typesApart(ours, theirs) ||
    valuesApart(ours, theirs) ||
    allApart(ours['anyOf'], theirs, within) ||
    allApart(theirs['anyOf'], ours, within) ||
    propertiesApart(ours, theirs, within)
  );
}

type Apart = (left: JsonValue, right: JsonValue) => boolean;

const allApart = (alternatives: JsonValue | undefined, other: Schema, apart: Apart): boolean =>
  isList(alternatives) && alternatives.every((each) => apart(each, other));

function typesApart(left: Schema, right: Schema): boolean {
  const [ours, theirs] = [typesOf(left), typesOf(right)];
  return ours !== undefined && theirs !== undefined && !ours.some((type) => theirs.includes(type));
}

/** An integer is a number. Undefined: any type. */
function typesOf(schema: Schema): readonly string[] | undefined {
  const types = isList(schema['enum']) ? schema['enum'].map(typeOfJson) : (schema['type'] as readonly JsonType[] | undefined);
  return types?.map((type) => (type === 'integer' ? 'number' : type));
}

/** The narrowest type of a value. */
export function typeOfJson(value: JsonValue): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value === 'object' ? 'object' : (typeof value as 'string' | 'boolean');
}

function valuesApart(left: Schema, right: Schema): boolean {
  const [ours, theirs] = [left['enum'], right['enum']];
  if (!isList(ours) || !isList(theirs)) return false;
  const known = new Set(theirs.map(canonicalJson));
  return !ours.some((value) => known.has(canonicalJson(value)));
}

function propertiesApart(left: Schema, right: Schema, apart: Apart): boolean {
  const objectsOnly = (schema: Schema): boolean => canonicalJson(schema['type'] ?? null) === '["object"]';
  if (!objectsOnly(left) || !objectsOnly(right)) return false;
  const [ours, theirs] = [requiredOf(left), requiredOf(right)];
  return [...ours].some(([name, schema]) => theirs.has(name) && apart(schema, theirs.get(name) as JsonValue));
}

/** Schemas of the required properties. */
function requiredOf(schema: Schema): ReadonlyMap<string, JsonValue> {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {};
  const names = isList(schema['required']) ? (schema['required'] as readonly string[]) : [];
  return new Map(names.map((name) => [name, Object.hasOwn(properties, name) ? (properties[name] as JsonValue) : true]));
}
