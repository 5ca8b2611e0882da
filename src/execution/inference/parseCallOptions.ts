import type { z } from 'zod';
import { isObject, type JsonValue } from '../../base/index.js';
import { executionError } from '../errors.js';

/** OPTIONS of a call by its schema; names that are not options come back to be warned of. Error INFER_OPTION_INVALID (8106). */
export function parseCallOptions<Schema extends z.ZodObject>(
  call: string,
  schema: Schema,
  value: JsonValue,
): { readonly options: z.infer<Schema>; readonly unknown: readonly string[] } {
  if (!isObject(value)) throw executionError('INFER_OPTION_INVALID', `OPTIONS of ${call} must be an object`);
  const parsed = schema.safeParse(value);
  if (parsed.success) return { options: parsed.data, unknown: Object.keys(value).filter((name) => !Object.hasOwn(schema.shape, name)) };
  const [issue] = parsed.error.issues;
  const option = issue?.path.join('.') ?? '';
  throw executionError('INFER_OPTION_INVALID', `option ${option} of ${call}: ${issue?.message ?? 'invalid'}`, { data: { option } });
}
