import type { PlanNode } from '../plan/PlanNode.js';
import type { PlanRule } from './PlanRule.js';

const keepsRows = new Set<PlanNode['kind']>(['Calculation', 'Infer', 'Embed', 'Rerank']);

const limitBehind = (nodes: readonly PlanNode[], index: number): number | undefined => {
  for (const node of nodes.slice(index + 1)) {
    if (node.kind === 'Limit') return node.count === null ? undefined : node.offset + node.count;
    if (!keepsRows.has(node.kind)) return undefined;
  }
  return undefined;
};

/** sort-limit: a sort whose first rows alone are wanted keeps only those (top-k). */
export const sortLimit: PlanRule = {
  name: 'sort-limit',
  apply(nodes) {
    let changed = false;
    const limited = nodes.map((node, i) => {
      const limit = node.kind === 'Sort' ? limitBehind(nodes, i) : undefined;
      if (limit === undefined) return node;
      changed = true;
      return { ...node, limit };
    });
    return changed ? limited : nodes;
  },
};
