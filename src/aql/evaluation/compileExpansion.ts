import type { JsonValue } from '../../base/index.js';
import type { PlanExpression } from '../plan/PlanExpression.js';
import { bytesOf } from './bytesOf.js';
import type { EvaluationContext } from './EvaluationContext.js';
import { toNumber } from './toNumber.js';
import { isArray, isTrue } from './valueKinds.js';

type Compiled = (row: readonly JsonValue[], context: EvaluationContext) => JsonValue;
type Expansion = Extract<PlanExpression, { readonly kind: 'expansion' }>;

const flattened = (values: readonly JsonValue[], levels: number, context: EvaluationContext): readonly JsonValue[] => {
  if (levels <= 1) return values;
  context.allocate(bytesOf.array(values.reduce<number>((count, value) => count + (isArray(value) ? value.length : 1), 0)));
  return flattened(
    values.flatMap((value) => (isArray(value) ? [...value] : [value])),
    levels - 1,
    context,
  );
};

/**
 * `list[* FILTER f LIMIT o, n RETURN r].tail`: filter and projection see CURRENT, the tail sees what the projection gave. Anything but
 * an array expands to the empty array.
 */
export function compileExpansion(expression: Expansion, compile: (expression: PlanExpression) => Compiled): Compiled {
  const optional = (part: PlanExpression | undefined): Compiled | undefined => part && compile(part);
  const source = compile(expression.source);
  const tail = compile(expression.tail);
  const [filter, projection] = [optional(expression.filter), optional(expression.projection)];
  const [offset, count] = [optional(expression.offset), optional(expression.count)];
  const { currentSlot, tailSlot, levels } = expression;
  return (row, context) => {
    const value = source(row, context);
    if (!isArray(value)) return [];
    const { scratch } = context;
    const passes = (item: JsonValue): boolean => {
      context.step(1);
      scratch[currentSlot] = item;
      return filter === undefined || isTrue(filter(row, context));
    };
    const project = (item: JsonValue): JsonValue => {
      context.step(1);
      scratch[currentSlot] = item;
      scratch[tailSlot] = projection ? projection(row, context) : item;
      return tail(row, context);
    };
    const kept = flattened(value, levels, context).filter(passes);
    const start = offset ? toNumber(offset(row, context)) : 0;
    const limited = count ? kept.slice(start, start + toNumber(count(row, context))) : kept;
    context.allocate(bytesOf.array(kept.length) + bytesOf.array(limited.length));
    return limited.map(project);
  };
}
