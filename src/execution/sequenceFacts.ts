import { definedVariables, expressionsOf, isDeterministic, type PlanNode, usedVariables } from '../aql/index.js';

const modifications = new Set<PlanNode['kind']>(['Insert', 'Update', 'Replace', 'Remove']);

/** Whether any node changes documents, nested sequences and fragments included. */
const writes = (nodes: readonly PlanNode[]): boolean =>
  nodes.some((node) => {
    if (node.kind === 'Subquery') return writes(node.nodes);
    return node.kind === 'Gather' ? node.writes : modifications.has(node.kind);
  });

const infers = (nodes: readonly PlanNode[]): boolean =>
  nodes.some((node) => node.kind === 'Infer' || (node.kind === 'Subquery' && infers(node.nodes)));

const isVolatile = (node: PlanNode): boolean => {
  if (node.kind === 'Infer' || !expressionsOf(node).every(isDeterministic)) return true;
  if (node.kind === 'Subquery') return node.nodes.some(isVolatile);
  return node.kind === 'Gather' && node.fragment.some(isVolatile);
};

const allDefined = (nodes: readonly PlanNode[]): readonly number[] =>
  nodes.flatMap((node) => [...definedVariables(node), ...(node.kind === 'Gather' ? allDefined(node.fragment) : [])]);

/** What a sequence's nodes tell about how it may run. */
export const sequenceFacts = {
  writes,
  /** It calls a chat model, nested sequences included; a fragment never does. */
  infers,
  /** It reads no variable from outside, changes nothing, and gives the same each time: one run serves all rows. */
  isIndependent(nodes: readonly PlanNode[]): boolean {
    const own = new Set(allDefined(nodes));
    const foreign = nodes.some((node) => [...usedVariables(node)].some((id) => !own.has(id)));
    return !foreign && !writes(nodes) && !nodes.some(isVolatile);
  },
  /** Rows that a LIMIT behind the node lets through, where only filters and calculations stand between. */
  rowsWanted(nodes: readonly PlanNode[], index: number): number | undefined {
    for (const node of nodes.slice(index + 1)) {
      if (node.kind === 'Limit') return node.count === null ? undefined : Math.max(1, node.offset + node.count);
      if (node.kind !== 'Filter' && node.kind !== 'Calculation') return undefined;
    }
    return undefined;
  },
};
