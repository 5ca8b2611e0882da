import { isDeterministic } from '../plan/isDeterministic.js';
import type { VariableId } from '../plan/PlanExpression.js';
import type { PlanNode } from '../plan/PlanNode.js';
import { usedVariables } from '../plan/usedVariables.js';
import type { PlanRule } from './PlanRule.js';

const passable = new Set<PlanNode['kind']>(['Filter', 'Sort', 'Limit', 'Calculation', 'Infer', 'Embed', 'Rerank']);

const isModelCall = (node: PlanNode): boolean => node.kind === 'Infer' || node.kind === 'Embed' || node.kind === 'Rerank';

/** Model calls, and calculations over their results. */
const movableVariables = (nodes: readonly PlanNode[]): Set<VariableId> => {
  const derived = new Set<VariableId>();
  for (const node of nodes) {
    if (isModelCall(node) && 'variable' in node) derived.add(node.variable);
    if (node.kind !== 'Calculation' || !isDeterministic(node.expression)) continue;
    if ([...usedVariables(node)].some((id) => derived.has(id))) derived.add(node.variable);
  }
  return derived;
};

/** The place behind the last Filter or Limit that the node at `index` may be moved past. */
const targetOf = (nodes: readonly PlanNode[], index: number, variable: VariableId): number => {
  let target = index;
  for (let i = index + 1; i < nodes.length; i++) {
    const node = nodes[i] as PlanNode;
    if (!passable.has(node.kind) || usedVariables(node).has(variable)) break;
    if (node.kind === 'Filter' || node.kind === 'Limit') target = i;
  }
  return target;
};

/** infer-after-limit: a model call that neither filter nor order needs is made for the rows that remain. */
export const inferAfterLimit: PlanRule = {
  name: 'infer-after-limit',
  apply(nodes) {
    const movable = movableVariables(nodes);
    const moved = [...nodes];
    let changed = false;
    for (let i = moved.length - 1; i > 0; i--) {
      const node = moved[i] as PlanNode;
      if (!(isModelCall(node) || node.kind === 'Calculation') || !('variable' in node) || !movable.has(node.variable)) continue;
      const target = targetOf(moved, i, node.variable);
      if (target === i) continue;
      moved.splice(i, 1);
      moved.splice(target, 0, node);
      changed = true;
    }
    return changed ? moved : nodes;
  },
};
