import { childrenOf } from './childrenOf.js';
import { expressionsOf } from './expressionsOf.js';
import type { PlanExpression, VariableId } from './PlanExpression.js';
import type { PlanNode } from './PlanNode.js';

const collectFrom = (expression: PlanExpression, used: Set<VariableId>): void => {
  if (expression.kind === 'variable') used.add(expression.id);
  for (const child of childrenOf(expression)) collectFrom(child, used);
};

/** Variables that an expression reads. */
export function variablesOf(expression: PlanExpression): Set<VariableId> {
  const used = new Set<VariableId>();
  collectFrom(expression, used);
  return used;
}

/** Variables that a node reads, nested sequences included. */
export function usedVariables(node: PlanNode): Set<VariableId> {
  const used = new Set<VariableId>();
  for (const expression of expressionsOf(node)) collectFrom(expression, used);
  if ('guards' in node) for (const guard of node.guards) used.add(guard.variable);
  if (node.kind === 'Sort') for (const key of node.keys) used.add(key.variable);
  if (node.kind === 'Collect') for (const { variable } of node.into?.keep ?? []) used.add(variable);
  if (node.kind === 'Subquery') for (const nested of node.nodes) for (const id of usedVariables(nested)) used.add(id);
  if (node.kind === 'Gather') for (const id of node.inputs) used.add(id);
  return used;
}

/** Variables that a node sets. */
export function definedVariables(node: PlanNode): readonly VariableId[] {
  switch (node.kind) {
    case 'EnumerateCollection':
    case 'EnumerateList':
    case 'Calculation':
    case 'Subquery':
    case 'Infer':
    case 'Embed':
    case 'Rerank':
    case 'Adapter':
    case 'EmbedRows':
      return [node.variable];
    case 'Collect':
      return [...node.groups, ...node.aggregates, ...(node.into ? [node.into] : [])]
        .map(({ variable }) => variable)
        .concat(node.count ?? []);
    case 'Insert':
    case 'Update':
    case 'Replace':
    case 'Remove':
      return [node.newVariable, node.oldVariable].filter((id) => id !== undefined);
    case 'Gather':
      return node.outputs.map(({ variable }) => variable);
    default:
      return [];
  }
}
