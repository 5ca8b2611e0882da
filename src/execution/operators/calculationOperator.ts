import { compileExpression, type PlanNode } from '../../aql/index.js';
import type { Operator } from '../Block.js';
import type { SequenceContext } from '../SequenceContext.js';

type Calculation = Extract<PlanNode, { readonly kind: 'Calculation' }>;

/** Sets a variable in every row. */
export function calculationOperator(node: Calculation, context: SequenceContext): Operator {
  const compiled = compileExpression(node.expression);
  return async function* (input) {
    for await (const block of input) {
      for (const row of block) {
        row[node.variable] = compiled(row, context.evaluation);
        if (context.pacer.isDue) await context.pacer.rest();
      }
      yield block;
    }
  };
}
