import { compileExpression, isTrue, type PlanNode } from '../../aql/index.js';
import type { Operator, Row } from '../Block.js';
import type { SequenceContext } from '../SequenceContext.js';

type Filter = Extract<PlanNode, { readonly kind: 'Filter' }>;

/** Keeps the rows in which the condition is true. */
export function filterOperator(node: Filter, context: SequenceContext): Operator {
  const compiled = compileExpression(node.condition);
  return async function* (input) {
    for await (const block of input) {
      const kept: Row[] = [];
      for (const row of block) {
        if (isTrue(compiled(row, context.evaluation))) kept.push(row);
        if (context.pacer.isDue) await context.pacer.rest();
      }
      context.stats.filtered += block.length - kept.length;
      if (kept.length > 0) yield kept;
      else await context.pacer.pace();
    }
  };
}
