import { isDeterministic } from '../plan/isDeterministic.js';
import type { PlanExpression, VariableId } from '../plan/PlanExpression.js';
import type { GatherNode, ModificationNode, PlanNode } from '../plan/PlanNode.js';
import { definedVariables, usedVariables, variablesOf } from '../plan/usedVariables.js';

type Enumerate = Extract<PlanNode, { readonly kind: 'EnumerateCollection' }>;

/** Names of the distribution rules; each lets one more kind of node run on the shards. */
export const distributionRules = {
  filtersAndCalculations: 'distribute-filtercalc-to-cluster',
  sort: 'distribute-sort-to-cluster',
  embed: 'embed-locality',
  modification: 'distribute-modification-to-cluster',
  count: 'collect-in-cluster',
  pointReads: 'use-indexes',
  singleShard: 'restrict-to-single-shard',
  projections: 'reduce-extraction-to-projection',
} as const;

export type DistributionRule = keyof typeof distributionRules;

export interface FragmentCut {
  readonly fragment: readonly PlanNode[];
  /** What the coordinator goes on with, from the node that could not leave. */
  readonly rest: readonly PlanNode[];
  readonly merge: GatherNode['merge'];
  readonly writes: boolean;
  /** The owners of these keys are asked and nobody else. */
  readonly keys?: PlanExpression;
  readonly rules: ReadonlySet<DistributionRule>;
}

/**
 * Cuts a sequence that begins with EnumerateCollection at the exchange: the longest prefix that gives, run on every shard over its own
 * documents, rows from which the rest makes the same result (paper §IV-E for EMBED: text stays where it is stored).
 */
export function cutFragment(
  nodes: readonly PlanNode[],
  options: { readonly enabled: ReadonlySet<DistributionRule>; readonly singleInput: boolean },
): FragmentCut {
  const cutter = new FragmentCutter(nodes[0] as Enumerate, options);
  let taken = 1;
  while (taken < nodes.length && cutter.take(nodes[taken] as PlanNode)) taken++;
  return cutter.finish(nodes.slice(taken));
}

class FragmentCutter {
  readonly #enumerate: Enumerate;
  readonly #enabled: ReadonlySet<DistributionRule>;
  readonly #singleInput: boolean;
  readonly #fragment: PlanNode[] = [];
  /** Nodes that the coordinator must repeat over the merged rows. */
  readonly #repeated: PlanNode[] = [];
  readonly #local: Set<VariableId>;
  readonly #rules = new Set<DistributionRule>();
  #merge: GatherNode['merge'] = { kind: 'unsorted' };
  #writes = false;
  #closed = false;
  #keys: PlanExpression | undefined;

  constructor(enumerate: Enumerate, options: { readonly enabled: ReadonlySet<DistributionRule>; readonly singleInput: boolean }) {
    this.#enumerate = enumerate;
    this.#enabled = options.enabled;
    this.#singleInput = options.singleInput;
    this.#local = new Set([enumerate.variable]);
  }

  /** Whether the node joins the fragment. */
  take(node: PlanNode): boolean {
    if (this.#closed) return false;
    switch (node.kind) {
      case 'Filter':
        return this.#takeFilter(node);
      case 'Calculation':
      case 'EnumerateList':
        return this.#allow('filtersAndCalculations') && this.#join(node);
      case 'Embed':
        return this.#takeEmbed(node);
      case 'Sort':
        return this.#takeSort(node);
      case 'Limit':
        return this.#takeLimit(node);
      case 'Update':
      case 'Replace':
      case 'Remove':
        return this.#takeModification(node);
      case 'Collect':
        return this.#takeCount(node);
      default:
        return false;
    }
  }

  finish(rest: readonly PlanNode[]): FragmentCut {
    const keys = this.#keys;
    const enumerate = keys && this.#allow('pointReads') ? { ...this.#enumerate, keys } : this.#enumerate;
    const isRestricted = keys !== undefined && this.#allow('singleShard');
    return {
      fragment: [enumerate, ...this.#fragment],
      rest: [...this.#repeated, ...rest],
      merge: this.#merge,
      writes: this.#writes,
      ...(isRestricted && { keys }),
      rules: this.#rules,
    };
  }

  #allow(rule: DistributionRule): boolean {
    if (this.#enabled.has(rule)) this.#rules.add(rule);
    return this.#enabled.has(rule);
  }

  #join(node: PlanNode): boolean {
    this.#fragment.push(node);
    for (const id of definedVariables(node)) this.#local.add(id);
    return true;
  }

  /** After a sort with a limit to come, a filter would change which rows are the first: the sequence has filters only before sorts. */
  #takeFilter(node: Extract<PlanNode, { readonly kind: 'Filter' }>): boolean {
    if (this.#merge.kind === 'sorted' || this.#repeated.length > 0 || !this.#allow('filtersAndCalculations')) return false;
    this.#keys ??= this.#keysIn(node.condition);
    return this.#join(node);
  }

  /** The keys of `d._key == expression` and `d._key IN expression`, or ids, where the expression does not depend on the fragment. */
  #keysIn(condition: PlanExpression): PlanExpression | undefined {
    if (condition.kind !== 'binary' || condition.quantifier) return undefined;
    const { operator, left, right } = condition;
    if (operator === 'IN') return this.#isOwnKey(left) && this.#isFixed(right) ? right : undefined;
    if (operator !== '==') return undefined;
    if (this.#isOwnKey(left) && this.#isFixed(right)) return { kind: 'array', items: [right] };
    return this.#isOwnKey(right) && this.#isFixed(left) ? { kind: 'array', items: [left] } : undefined;
  }

  /** One value for the coordinator and every shard. */
  #isFixed(expression: PlanExpression): boolean {
    return isDeterministic(expression) && ![...variablesOf(expression)].some((id) => this.#local.has(id));
  }

  /** The filter itself stays: a key where an id is asked for, or the other way round, is found and refused. */
  #isOwnKey(expression: PlanExpression): boolean {
    return expression.kind === 'attribute' && ['_key', '_id'].includes(expression.name) && this.#isOwnRow(expression.source);
  }

  #isOwnRow(expression: PlanExpression): boolean {
    return expression.kind === 'variable' && expression.id === this.#enumerate.variable;
  }

  /** EMBED of the row's own attributes: nothing of it comes from elsewhere. */
  #takeEmbed(node: Extract<PlanNode, { readonly kind: 'Embed' }>): boolean {
    if (this.#repeated.length > 0) return false;
    return [...usedVariables(node)].every((id) => this.#local.has(id)) && this.#allow('embed') && this.#join(node);
  }

  /** One input row: merging sorted streams is the sort. Several: each shard's top rows are a superset, and the coordinator sorts again. */
  #takeSort(node: Extract<PlanNode, { readonly kind: 'Sort' }>): boolean {
    if (this.#merge.kind === 'sorted' || this.#repeated.length > 0 || !this.#allow('sort')) return false;
    if (this.#singleInput) this.#merge = { kind: 'sorted', keys: node.keys };
    else this.#repeated.push(node);
    return this.#join(node);
  }

  #takeLimit(node: Extract<PlanNode, { readonly kind: 'Limit' }>): boolean {
    this.#closed = true;
    if (node.count === null || this.#writes || !this.#allow('filtersAndCalculations')) return false;
    this.#fragment.push({ ...node, offset: 0, count: node.offset + node.count });
    this.#repeated.push(node);
    return true;
  }

  /** A change of the very row that the fragment reads: it lives on the shard that reads it. */
  #takeModification(node: ModificationNode): boolean {
    const own = node.key !== undefined && (this.#isOwnRow(node.key) || this.#isOwnKey(node.key));
    if (!own || node.collection !== this.#enumerate.collection || this.#repeated.length > 0 || !this.#allow('modification')) return false;
    this.#writes = true;
    return this.#join(node);
  }

  #takeCount(node: Extract<PlanNode, { readonly kind: 'Collect' }>): boolean {
    const countOnly = node.groups.length + node.aggregates.length === 0 && !node.into && node.count !== undefined;
    if (!countOnly || this.#repeated.length > 0 || !this.#allow('count')) return false;
    this.#merge = { kind: 'count', variable: node.count as VariableId };
    this.#closed = true;
    return this.#join(node);
  }
}
