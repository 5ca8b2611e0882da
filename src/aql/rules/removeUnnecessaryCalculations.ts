import type { VariableId } from '../plan/PlanExpression.js';
import type { PlanNode } from '../plan/PlanNode.js';
import { usedVariables } from '../plan/usedVariables.js';
import type { PlanRule } from './PlanRule.js';

/** remove-unnecessary-calculations: a value that nothing reads is not computed. Model calls and subqueries stay: they may fail or write. */
export const removeUnnecessaryCalculations: PlanRule = {
  name: 'remove-unnecessary-calculations',
  apply(nodes) {
    const used = new Set<VariableId>();
    const kept: PlanNode[] = [];
    for (const node of nodes.toReversed()) {
      if (node.kind === 'Calculation' && !used.has(node.variable)) continue;
      for (const id of usedVariables(node)) used.add(id);
      kept.push(node);
    }
    return kept.length === nodes.length ? nodes : kept.reverse();
  },
};
