import { isDeterministic } from '../plan/isDeterministic.js';
import type { PlanExpression } from '../plan/PlanExpression.js';
import type { PlanNode } from '../plan/PlanNode.js';
import { definedVariables, usedVariables } from '../plan/usedVariables.js';
import type { PlanRule } from './PlanRule.js';

type Filter = Extract<PlanNode, { readonly kind: 'Filter' }>;

/** Nodes that a filter may overtake: they neither drop rows by count nor write. */
const passable = new Set<PlanNode['kind']>([
  'Calculation',
  'Sort',
  'EnumerateList',
  'EnumerateCollection',
  'Infer',
  'Embed',
  'Rerank',
  'Filter',
]);

const writes = (nodes: readonly PlanNode[]): boolean =>
  nodes.some((node) => ['Insert', 'Update', 'Replace', 'Remove'].includes(node.kind) || (node.kind === 'Subquery' && writes(node.nodes)));

const mayOvertake = (node: PlanNode): boolean => passable.has(node.kind) || (node.kind === 'Subquery' && !writes(node.nodes));

const conjuncts = (condition: PlanExpression): readonly PlanExpression[] => {
  if (condition.kind !== 'binary' || condition.operator !== 'AND') return [condition];
  return [...conjuncts(condition.left), ...conjuncts(condition.right)];
};

/** `FILTER a && b` becomes two filters, so that the cheap one can move up without the one that waits for a model. */
const split = (node: PlanNode): readonly PlanNode[] => {
  if (node.kind !== 'Filter') return [node];
  const parts = conjuncts(node.condition);
  return parts.length === 1 ? [node] : parts.map((condition): Filter => ({ ...node, condition }));
};

/** The first place the filter at `index` may move to. Overtaking other filters alone gains nothing. */
const targetOf = (nodes: readonly PlanNode[], index: number): number => {
  const filter = nodes[index] as Filter;
  if (!isDeterministic(filter.condition)) return index;
  const used = usedVariables(filter);
  let target = index;
  for (let i = index - 1; i > 0; i--) {
    const node = nodes[i] as PlanNode;
    if (!mayOvertake(node) || definedVariables(node).some((id) => used.has(id))) break;
    if (node.kind !== 'Filter') target = i;
  }
  return target;
};

/** move-filters-up: every condition stands as early as its variables allow, before sorts, loops and model calls that do not feed it. */
export const moveFiltersUp: PlanRule = {
  name: 'move-filters-up',
  apply(nodes) {
    const moved = nodes.flatMap(split);
    let changed = moved.length !== nodes.length;
    for (let i = 1; i < moved.length; i++) {
      if (moved[i]?.kind !== 'Filter') continue;
      const target = targetOf(moved, i);
      if (target === i) continue;
      moved.splice(target, 0, ...moved.splice(i, 1));
      changed = true;
    }
    return changed ? moved : nodes;
  },
};
