import { compileExpression, isTrue, type PlanNode } from '../../aql/index.js';
import type { Operator } from '../Block.js';
import type { SequenceContext } from '../SequenceContext.js';

type Filter = Extract<PlanNode, { readonly kind: 'Filter' }>;

/** Keeps the rows in which the condition is true. */
export function filterOperator(node: Filter, context: SequenceContext): Operator {
  const compiled = compileExpression(node.condition);
  return async function* (input) {
    for await (const block of input) {
      const kept = block.filter((row) => isTrue(compiled(row, context.evaluation)));
      context.stats.filtered += block.length - kept.length;
      if (kept.length > 0) yield kept;
      else await context.pacer.pace();
    }
  };
}
