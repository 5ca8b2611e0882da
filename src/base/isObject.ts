import type { JsonValue } from './JsonValue.js';

/** A JSON object: neither null nor an array. */
export const isObject = (value: unknown): value is { readonly [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
