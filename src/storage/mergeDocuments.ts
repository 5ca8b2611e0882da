import { isObject, type JsonValue } from '../base/index.js';

type JsonObject = { readonly [name: string]: JsonValue };

export interface MergeOptions {
  /** False removes attributes whose new value is null. */
  readonly keepNull: boolean;
  /** True merges sub-objects, false replaces them. */
  readonly mergeObjects: boolean;
}

/** An UPDATE's result: `patch` over `base`, as ArangoDB merges. Builds with entries, so that no attribute name touches a prototype. */
export function mergeDocuments(base: JsonObject, patch: JsonObject, options: MergeOptions): JsonObject {
  const merged = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(patch)) {
    const old = merged.get(name);
    if (value === null && !options.keepNull) merged.delete(name);
    else if (options.mergeObjects && isObject(value)) merged.set(name, mergeDocuments(isObject(old) ? old : {}, value, options));
    else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}
