import { expressionsOf } from '../plan/expressionsOf.js';
import { isDeterministic } from '../plan/isDeterministic.js';
import type { PlanNode } from '../plan/PlanNode.js';
import { definedVariables, usedVariables } from '../plan/usedVariables.js';
import type { PlanRule } from './PlanRule.js';

type Subquery = Extract<PlanNode, { readonly kind: 'Subquery' }>;

/** What a subquery may overtake, other subqueries that can move among them: nothing that writes, and no COLLECT, which forgets what was before. */
const passable = new Set<PlanNode['kind']>([
  'Calculation',
  'Embed',
  'EnumerateCollection',
  'EnumerateList',
  'Filter',
  'Infer',
  'Limit',
  'Rerank',
  'Sort',
]);

/** Not worth a model call that may be in vain, and the same whenever it runs. */
const isPlain = (node: PlanNode): boolean => {
  if (node.kind === 'Subquery') return node.nodes.every(isPlain);
  return (
    !['Embed', 'Infer', 'Insert', 'Remove', 'Replace', 'Rerank', 'Update'].includes(node.kind) && expressionsOf(node).every(isDeterministic)
  );
};

const mayOvertake = (node: PlanNode): boolean => passable.has(node.kind) || (node.kind === 'Subquery' && isPlain(node));

const isFiltered = (nodes: readonly PlanNode[], { variable }: Subquery): boolean =>
  nodes.some((node) => node.kind === 'Filter' && usedVariables(node).has(variable));

/** The place before the first collection that the subquery at `index` may overtake with all behind it; its own where there is none. */
const targetOf = (nodes: readonly PlanNode[], index: number): number => {
  const subquery = nodes[index] as Subquery;
  const used = new Set(subquery.nodes.flatMap((node) => [...usedVariables(node)]));
  let target = index;
  for (let i = index - 1; i > 0; i--) {
    const node = nodes[i] as PlanNode;
    if (!mayOvertake(node) || definedVariables(node).some((id) => used.has(id))) break;
    if (node.kind === 'EnumerateCollection') target = i;
  }
  return target;
};

/**
 * move-subqueries-up: a subquery that a filter reads and that does not depend on the documents runs once before they are read, so that
 * the filter goes to the shards and may name the documents. Also where it stood in a branch: for a row that does not take it, its value is not looked at.
 */
export const moveSubqueriesUp: PlanRule = {
  name: 'move-subqueries-up',
  apply(nodes) {
    const moved = [...nodes];
    let changed = false;
    for (const [i, node] of nodes.entries()) {
      if (node.kind !== 'Subquery' || !isPlain(node) || !isFiltered(nodes.slice(i + 1), node)) continue;
      const target = targetOf(moved, i);
      if (target === i) continue;
      moved.splice(i, 1);
      moved.splice(target, 0, { ...node, guards: [] });
      changed = true;
    }
    return changed ? moved : nodes;
  },
};
