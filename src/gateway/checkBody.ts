import type { z } from 'zod';
import type { JsonValue } from '../base/index.js';
import { gatewayError } from './errors.js';

/** Checks a body or parameters against a schema; the error names the first field that is wrong. Errors: PARAMETER_BAD. */
export function checkBody<Schema extends z.ZodType>(
  schema: Schema,
  value: JsonValue | { readonly [name: string]: unknown },
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue?.path.join('.') ?? '';
  const name = param === '' ? 'the body' : param;
  throw gatewayError('PARAMETER_BAD', `${name}: ${issue?.message ?? 'is wrong'}`, { data: { param } });
}
