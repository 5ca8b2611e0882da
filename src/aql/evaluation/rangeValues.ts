import type { JsonValue } from '../../base/index.js';
import { aqlError } from '../errors.js';
import { aqlLimits } from '../limits.js';
import { bytesOf } from './bytesOf.js';
import type { EvaluationContext } from './EvaluationContext.js';
import { toNumber } from './toNumber.js';

/** Bounds of `from..to`: both ends truncated to integers. Error AQL_NUMBER_OUT_OF_RANGE above 10,000,000 numbers. */
export function rangeBounds(from: JsonValue, to: JsonValue): { readonly from: number; readonly to: number; readonly count: number } {
  const bounds = { from: Math.trunc(toNumber(from)), to: Math.trunc(toNumber(to)) };
  const count = Math.abs(bounds.to - bounds.from) + 1;
  if (count > aqlLimits.rangeItemsMax)
    throw aqlError('AQL_NUMBER_OUT_OF_RANGE', `a range of ${count} numbers is longer than ${aqlLimits.rangeItemsMax}`);
  return { ...bounds, count };
}

/** The numbers of `from..to`, ascending or descending; counted before they are made. */
export function rangeValues(from: JsonValue, to: JsonValue, context: EvaluationContext): number[] {
  const bounds = rangeBounds(from, to);
  context.step(bounds.count >> 2);
  context.allocate(bytesOf.array(bounds.count));
  const step = bounds.from <= bounds.to ? 1 : -1;
  return Array.from({ length: bounds.count }, (_, i) => bounds.from + i * step);
}
