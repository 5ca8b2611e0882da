import { childrenOf } from '../plan/childrenOf.js';
import { expressionsOf } from '../plan/expressionsOf.js';
import type { PlanExpression, VariableId } from '../plan/PlanExpression.js';
import type { PlanNode } from '../plan/PlanNode.js';
import { usedVariables } from '../plan/usedVariables.js';

/** Adds the attributes of the variable that the expression reads; false where it reads the value as a whole. */
const collectUses = (expression: PlanExpression, variable: VariableId, uses: Set<string>): boolean => {
  if (expression.kind === 'variable') return expression.id !== variable;
  if (expression.kind === 'attribute' && expression.source.kind === 'variable' && expression.source.id === variable) {
    uses.add(expression.name);
    return true;
  }
  return childrenOf(expression).every((child) => collectUses(child, variable, uses));
};

const inNode = (node: PlanNode, variable: VariableId, uses: Set<string>): boolean => {
  if (!usedVariables(node).has(variable)) return true;
  const byName = expressionsOf(node).every((expression) => collectUses(expression, variable, uses));
  if (!byName || node.kind === 'Sort' || node.kind === 'Gather') return false;
  if ('guards' in node && node.guards.some((guard) => guard.variable === variable)) return false;
  if (node.kind === 'Collect' && node.into?.keep.some((kept) => kept.variable === variable)) return false;
  return node.kind !== 'Subquery' || node.nodes.every((nested) => inNode(nested, variable, uses));
};

/** The attributes of a variable that the nodes read, sorted; undefined where one of them needs the whole value. */
export function attributeUses(nodes: readonly PlanNode[], variable: VariableId): readonly string[] | undefined {
  const uses = new Set<string>();
  return nodes.every((node) => inNode(node, variable, uses)) ? [...uses].sort() : undefined;
}
