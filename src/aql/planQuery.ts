import type { JsonValue } from '../base/index.js';
import { parseAql } from './parseAql.js';
import { BindParameters } from './plan/BindParameters.js';
import { linkNodes } from './plan/linkNodes.js';
import { OperationBuilder } from './plan/OperationBuilder.js';
import { PlanBuilder } from './plan/PlanBuilder.js';
import type { QueryPlan } from './plan/QueryPlan.js';
import { type DistributionRule, distributionRules } from './rules/cutFragment.js';
import { distribute } from './rules/distribute.js';
import { inferAfterLimit } from './rules/inferAfterLimit.js';
import { mapSequences } from './rules/mapSequences.js';
import { moveFiltersUp } from './rules/moveFiltersUp.js';
import { moveSubqueriesUp } from './rules/moveSubqueriesUp.js';
import type { PlanRule } from './rules/PlanRule.js';
import { removeUnnecessaryCalculations } from './rules/removeUnnecessaryCalculations.js';
import { sortLimit } from './rules/sortLimit.js';
import type { Expression } from './syntax/Ast.js';

export interface QueryText {
  readonly text: string;
  /** Collection parameters stand under `@name`. */
  readonly bindVars?: { readonly [name: string]: JsonValue };
  /** As in ArangoDB: `-all`, `-rule`, `+rule`, applied in order; all rules are on at first. */
  readonly optimizerRules?: readonly string[];
}

const rewritings: readonly PlanRule[] = [moveSubqueriesUp, moveFiltersUp, inferAfterLimit, sortLimit, removeUnnecessaryCalculations];

/** Every rule that `optimizerRules` can name. Lifting model calls and cutting at the exchange are no options: nothing runs without them. */
export const optimizerRuleNames: readonly string[] = [...rewritings.map(({ name }) => name), ...Object.values(distributionRules)];

/**
 * Parses, checks and plans a query for a cluster (R13, R14). Pure and deterministic.
 * Errors: those of `parseAql`; AQL_BIND_MISSING, AQL_BIND_UNDECLARED, AQL_BIND_TYPE; AQL_VARIABLE_REDECLARED, AQL_VARIABLE_UNKNOWN;
 * AQL_FUNCTION_UNKNOWN, AQL_ARGUMENT_COUNT, AQL_AGGREGATE_INVALID, AQL_OPTION_INVALID; AQL_ACCESS_AFTER_WRITE.
 */
export function planQuery(query: QueryText): QueryPlan {
  const ast = parseAql(query.text);
  const builder = new PlanBuilder(query.text, new BindParameters(ast, query.bindVars ?? {}));
  for (const collection of ast.withCollections) builder.access(collectionName(builder, collection), 'read', collection.at);
  const built = builder.sequence(() => new OperationBuilder(builder).buildAll(ast.operations));
  const enabled = enabledRules(query.optimizerRules ?? []);
  const { nodes, rules } = optimize(built, enabled);
  return {
    nodes: linkNodes(nodes),
    variables: builder.variables,
    collections: [...builder.collections].map(([name, access]) => ({ name, access })),
    rulesApplied: rules,
    rulesSkipped: optimizerRuleNames.filter((name) => !enabled.has(name)),
    warnings: builder.warnings,
  };
}

const collectionName = (builder: PlanBuilder, collection: Expression): string => {
  if (collection.kind === 'collectionBind') return builder.binds.collection(collection.name, collection.at);
  return collection.kind === 'reference' ? collection.name : '';
};

function enabledRules(switches: readonly string[]): ReadonlySet<string> {
  const enabled = new Set(optimizerRuleNames);
  for (const one of switches) {
    const name = one.replace(/^[+-]/, '');
    const named = name === 'all' ? optimizerRuleNames : [name];
    for (const rule of named) {
      if (one.startsWith('-')) enabled.delete(rule);
      else if (optimizerRuleNames.includes(rule)) enabled.add(rule);
    }
  }
  return enabled;
}

function optimize(
  built: QueryPlan['nodes'],
  enabled: ReadonlySet<string>,
): { readonly nodes: QueryPlan['nodes']; readonly rules: readonly string[] } {
  const rules: string[] = [];
  let nodes = built;
  for (const rule of rewritings.filter(({ name }) => enabled.has(name))) {
    const rewritten = mapSequences(nodes, (sequence) => rule.apply(sequence));
    if (rewritten !== nodes) rules.push(rule.name);
    nodes = rewritten;
  }
  const distribution = Object.entries(distributionRules).filter(([, name]) => enabled.has(name));
  const allowed = new Set(distribution.map(([rule]) => rule as DistributionRule));
  const applied = new Set<DistributionRule>();
  const distributed = mapSequences(nodes, (sequence) => {
    const result = distribute(sequence, allowed);
    for (const rule of result.rules) applied.add(rule);
    return result.nodes;
  });
  return { nodes: distributed, rules: [...rules, ...[...applied].map((rule) => distributionRules[rule])] };
}
