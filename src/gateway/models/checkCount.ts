import { gatewayError } from '../errors.js';
import type { CompletionLimits } from './CompletionLimits.js';

/** Refuses more than an option allows, by the names of both. Error PARAMETER_BAD. */
export function checkCount(
  param: string,
  count: number,
  bound: { readonly limits: CompletionLimits; readonly option: keyof CompletionLimits },
): void {
  const max = bound.limits[bound.option];
  if (count <= max) return;
  throw gatewayError('PARAMETER_BAD', `${param}: ${count} is more than the ${max} that ${bound.option} allows`, { data: { param, max } });
}
