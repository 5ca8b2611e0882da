import type { VariableId } from '../plan/PlanExpression.js';
import type { GatherNode, PlanNode } from '../plan/PlanNode.js';
import { definedVariables, usedVariables } from '../plan/usedVariables.js';
import { attributeUses } from './attributeUses.js';
import { cutFragment, type DistributionRule, type FragmentCut } from './cutFragment.js';

const multiplies = new Set<PlanNode['kind']>(['EnumerateCollection', 'EnumerateList', 'Gather']);

export interface Distributed {
  readonly nodes: readonly PlanNode[];
  readonly rules: ReadonlySet<DistributionRule>;
}

/**
 * Replaces every EnumerateCollection of a sequence by a Gather over the fragment that begins with it. Always applied: documents are
 * only on shards; the enabled rules decide how much of the sequence goes with them.
 */
export function distribute(nodes: readonly PlanNode[], enabled: ReadonlySet<DistributionRule>): Distributed {
  const rules = new Set<DistributionRule>();
  const done: PlanNode[] = [];
  let pending = nodes;
  while (pending.length > 0) {
    const node = pending[0] as PlanNode;
    if (node.kind !== 'EnumerateCollection') {
      done.push(node);
      pending = pending.slice(1);
      continue;
    }
    const cut = cutFragment(pending, { enabled, singleInput: !done.some(({ kind }) => multiplies.has(kind)) });
    for (const rule of cut.rules) rules.add(rule);
    done.push(gatherOf(node.collection, cut, { enabled, rules }));
    pending = cut.rest;
  }
  return { nodes: done, rules };
}

interface RuleUse {
  readonly enabled: ReadonlySet<DistributionRule>;
  readonly rules: Set<DistributionRule>;
}

function gatherOf(collection: string, cut: FragmentCut, use: RuleUse): GatherNode {
  const { fragment, rest, merge, writes, keys } = cut;
  const local = new Set(fragment.flatMap(definedVariables));
  const inputs = new Set(fragment.flatMap((node) => [...usedVariables(node)]).filter((id) => !local.has(id)));
  const needed = new Set(rest.flatMap((node) => [...usedVariables(node)]));
  if (merge.kind === 'sorted') for (const { variable } of merge.keys) needed.add(variable);
  const outputs = [...local].filter((id) => needed.has(id)).map((variable) => outputOf(variable, cut, use));
  const links = { id: 0, dependencies: [] };
  return { kind: 'Gather', ...links, collection, fragment, inputs: [...inputs], outputs, merge, writes, ...(keys && { keys }) };
}

function outputOf(variable: VariableId, { rest, merge }: FragmentCut, use: RuleUse): GatherNode['outputs'][number] {
  const isKey = merge.kind === 'sorted' && merge.keys.some((key) => key.variable === variable);
  const projections = use.enabled.has('projections') && !isKey ? attributeUses(rest, variable) : undefined;
  if (projections === undefined) return { variable };
  use.rules.add('projections');
  return { variable, projections };
}
