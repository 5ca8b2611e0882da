import type { JsonValue } from '../../base/index.js';
import { isList, isSchema } from './schemaKeywords.js';

/**
 * The schema without a keyword that cannot be enforced, named by keyword and JSON pointer: wider, never narrower. Of alternatives that may
 * overlap any may hold. Where the place is not one of the document (it was merged of several), any object is what is left.
 */
export function relaxSchema(schema: JsonValue, { keyword, path }: { readonly [name: string]: JsonValue }): JsonValue {
  const steps = String(path).split('/').slice(1);
  return without(schema, steps, String(keyword)) ?? { type: 'object' };
}

function without(value: JsonValue, steps: readonly string[], keyword: string): JsonValue | undefined {
  const [step, ...rest] = steps;
  if (step === undefined) return isSchema(value) ? withoutKeyword(value, keyword) : undefined;
  const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
  if (isList(value)) {
    const changed = value[Number(key)] === undefined ? undefined : without(value[Number(key)] as JsonValue, rest, keyword);
    return changed === undefined ? undefined : value.map((each, index) => (index === Number(key) ? changed : each));
  }
  if (!isSchema(value) || !Object.hasOwn(value, key)) return undefined;
  const changed = without(value[key] as JsonValue, rest, keyword);
  return changed === undefined
    ? undefined
    : fromEntries(Object.entries(value).map(([name, each]) => [name, name === key ? changed : each]));
}

function withoutKeyword(schema: { readonly [keyword: string]: JsonValue }, keyword: string): JsonValue | undefined {
  if (!Object.hasOwn(schema, keyword)) return undefined;
  const isWidened = keyword === 'oneOf' && !Object.hasOwn(schema, 'anyOf');
  return fromEntries(
    Object.entries(schema).flatMap(([name, value]) =>
      name !== keyword ? [[name, value] as const] : isWidened ? [['anyOf', value] as const] : [],
    ),
  );
}

const fromEntries = (entries: readonly (readonly [string, JsonValue])[]): JsonValue => Object.fromEntries(entries);
