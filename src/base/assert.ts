import { baseError } from './errors.js';
import type { JsonValue } from './JsonValue.js';

/** States a fact about the program, on in production. A false one fails the request (code INTERNAL) before data is harmed. */
export function assert(condition: unknown, fact: string, data: { readonly [key: string]: JsonValue } = {}): asserts condition {
  if (!condition) throw baseError('INTERNAL', `assertion failed: ${fact}`, { data });
}
