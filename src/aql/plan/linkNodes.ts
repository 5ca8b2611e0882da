import { aqlError } from '../errors.js';
import { aqlLimits } from '../limits.js';
import type { VariableId } from './PlanExpression.js';
import type { PlanNode } from './PlanNode.js';
import { usedVariables } from './usedVariables.js';

/** Numbers the nodes in order of execution, links each to the one before it, and drops NEW and OLD where nothing reads them. Error 1524. */
export function linkNodes(nodes: readonly PlanNode[]): readonly PlanNode[] {
  const linker = new Linker(new Set(nodes.flatMap((node) => [...readBy(node)])));
  return linker.link(nodes, []);
}

/** Everything read inside a node, in fragments too. */
const readBy = (node: PlanNode): ReadonlySet<VariableId> => {
  if (node.kind === 'Gather')
    return new Set([
      ...usedVariables(node),
      ...node.outputs.map(({ variable }) => variable),
      ...node.fragment.flatMap((inner) => [...readBy(inner)]),
    ]);
  if (node.kind === 'Subquery') return new Set(node.nodes.flatMap((inner) => [...readBy(inner)]));
  return usedVariables(node);
};

class Linker {
  #nextId = 1;
  readonly #read: ReadonlySet<VariableId>;

  constructor(read: ReadonlySet<VariableId>) {
    this.#read = read;
  }

  link(nodes: readonly PlanNode[], before: readonly number[]): readonly PlanNode[] {
    let dependencies = before;
    return nodes.map((node) => {
      const linked = this.#linkOne(node, dependencies);
      dependencies = [linked.id];
      return linked;
    });
  }

  #linkOne(node: PlanNode, dependencies: readonly number[]): PlanNode {
    if (node.kind === 'Subquery') return { ...node, nodes: this.link(node.nodes, []), id: this.#take(), dependencies };
    if (node.kind !== 'Gather') return { ...this.#withoutUnread(node), id: this.#take(), dependencies };
    const fragment = this.link(node.fragment, dependencies);
    const last = fragment.at(-1);
    return { ...node, fragment, id: this.#take(), dependencies: last ? [last.id] : dependencies };
  }

  #take(): number {
    if (this.#nextId > aqlLimits.planNodesMax)
      throw aqlError('AQL_NESTING_TOO_DEEP', `the plan has more than ${aqlLimits.planNodesMax} nodes`);
    return this.#nextId++;
  }

  #withoutUnread(node: PlanNode): PlanNode {
    if (!('newVariable' in node || 'oldVariable' in node)) return node;
    const { newVariable, oldVariable, ...rest } = node;
    return {
      ...rest,
      ...(newVariable !== undefined && this.#read.has(newVariable) && { newVariable }),
      ...(oldVariable !== undefined && this.#read.has(oldVariable) && { oldVariable }),
    };
  }
}
