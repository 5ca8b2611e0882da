import type { JsonValue } from '../base/index.js';

/** The document keys in a looked-up list, each once. What is no array has none; what is no string names no document. */
export function keysOf(list: JsonValue): readonly string[] {
  if (!Array.isArray(list)) return [];
  return [...new Set(list.filter((key) => typeof key === 'string'))];
}
