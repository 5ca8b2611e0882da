import type { PlanNode } from '../plan/PlanNode.js';

/** Rewrites every sequence of a plan, subqueries first. Gives the same array where nothing changed. */
export function mapSequences(
  nodes: readonly PlanNode[],
  rewrite: (nodes: readonly PlanNode[]) => readonly PlanNode[],
): readonly PlanNode[] {
  let changed = false;
  const inner = nodes.map((node) => {
    if (node.kind !== 'Subquery') return node;
    const nested = mapSequences(node.nodes, rewrite);
    if (nested === node.nodes) return node;
    changed = true;
    return { ...node, nodes: nested };
  });
  return rewrite(changed ? inner : nodes);
}
