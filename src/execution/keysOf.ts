import type { JsonValue } from '../base/index.js';
import { isDocumentKey } from '../storage/index.js';

/**
 * The document keys in a looked-up list of keys or ids of the collection, each once. What is no array has none; what is no string, or
 * what no key can be, names no document. A key has no slash, so that an id is never taken for one.
 */
export function keysOf(list: JsonValue, collection: string): readonly string[] {
  if (!Array.isArray(list)) return [];
  const prefix = `${collection}/`;
  const texts = list.filter((name) => typeof name === 'string');
  const keys = texts.map((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name));
  return [...new Set(keys.filter(isDocumentKey))];
}
