import type { JsonValue } from '../base/index.js';
import { formatExpression } from './plan/formatExpression.js';
import type { PlanExpression, VariableId } from './plan/PlanExpression.js';
import type { Guard, PlanNode } from './plan/PlanNode.js';
import type { QueryPlan } from './plan/QueryPlan.js';

/** One node for people and tools: ArangoDB's type names, the site it runs at, and its own parts as AQL text. */
export interface ExplainedNode {
  readonly type: string;
  readonly id: number;
  readonly dependencies: readonly number[];
  /** COOR: the shard that took the query; DBS: each shard that owns documents. */
  readonly site: 'COOR' | 'DBS';
  readonly details: { readonly [name: string]: JsonValue };
  /** Of a subquery. */
  readonly nodes?: readonly ExplainedNode[];
}

export interface ExplainedPlan {
  readonly nodes: readonly ExplainedNode[];
  readonly rules: readonly string[];
  readonly collections: readonly { readonly name: string; readonly type: 'read' | 'write' }[];
  readonly variables: readonly { readonly id: number; readonly name: string }[];
}

/** A plan as EXPLAIN prints it (R17): fragments stand before the Remote and Gather that bring their rows. */
export function explainPlan(plan: QueryPlan): ExplainedPlan {
  const names = new Map(plan.variables.map(({ id, name }) => [id, name]));
  const explainer = new Explainer({ nameOf: (id) => names.get(id) ?? String(id), idAfter: greatestId(plan.nodes) });
  return {
    nodes: explainer.sequence(plan.nodes, 'COOR'),
    rules: plan.rulesApplied,
    collections: plan.collections.map(({ name, access }) => ({ name, type: access })),
    variables: plan.variables,
  };
}

type Details = { [name: string]: JsonValue };

class Explainer {
  readonly #nameOf: (id: VariableId) => string;
  /** The plan has no node for a Remote: its ids follow those of the plan. */
  #lastId: number;

  constructor(given: { readonly nameOf: (id: VariableId) => string; readonly idAfter: number }) {
    this.#nameOf = given.nameOf;
    this.#lastId = given.idAfter;
  }

  sequence(nodes: readonly PlanNode[], site: 'COOR' | 'DBS'): readonly ExplainedNode[] {
    return nodes.flatMap((node) => this.#node(node, site));
  }

  #node(node: PlanNode, site: 'COOR' | 'DBS'): readonly ExplainedNode[] {
    const { id, dependencies } = node;
    const isPointRead = node.kind === 'EnumerateCollection' && node.keys !== undefined;
    const explained = {
      type: isPointRead ? 'IndexNode' : `${node.kind}Node`,
      id,
      dependencies,
      site: siteOf(node, site),
      details: this.#details(node),
    };
    if (node.kind === 'Subquery') return [{ ...explained, nodes: this.sequence(node.nodes, site) }];
    if (node.kind !== 'Gather') return [explained];
    const fragment = this.sequence(node.fragment, 'DBS');
    const remote = { type: 'RemoteNode', id: ++this.#lastId, dependencies, site: 'DBS' as const, details: {} };
    return [...fragment, remote, { ...explained, dependencies: [remote.id] }];
  }

  #text(expression: PlanExpression): string {
    return formatExpression(expression, this.#nameOf);
  }

  #texts(parts: { readonly [name: string]: PlanExpression | undefined }): Details {
    const given = Object.entries(parts).filter((entry): entry is [string, PlanExpression] => entry[1] !== undefined);
    return Object.fromEntries(given.map(([name, expression]) => [name, this.#text(expression)]));
  }

  #guards(guards: readonly Guard[]): Details {
    if (guards.length === 0) return {};
    return { onlyIf: guards.map(({ variable, wanted }) => `${wanted ? '' : '!'}${this.#nameOf(variable)}`) };
  }

  #details(node: PlanNode): Details {
    switch (node.kind) {
      case 'Singleton':
        return {};
      case 'EnumerateCollection':
        return { collection: node.collection, outVariable: this.#nameOf(node.variable), ...this.#lookup(node.keys) };
      case 'EnumerateList':
        return { outVariable: this.#nameOf(node.variable), ...this.#texts({ list: node.list }) };
      case 'Calculation':
        return { outVariable: this.#nameOf(node.variable), ...this.#texts({ expression: node.expression }) };
      case 'Filter':
        return this.#texts({ condition: node.condition });
      case 'Sort':
        return { keys: this.#sortKeys(node.keys), ...(node.limit !== undefined && { limit: node.limit, strategy: 'constrained-heap' }) };
      case 'Limit':
        return { offset: node.offset, limit: node.count };
      case 'Subquery':
        return { outVariable: this.#nameOf(node.variable), ...this.#guards(node.guards) };
      case 'Return':
        return { ...this.#texts({ value: node.value }), ...(node.distinct && { distinct: true }) };
      case 'Collect':
        return this.#collect(node);
      case 'Insert':
      case 'Update':
      case 'Replace':
      case 'Remove':
        return { collection: node.collection, ...this.#texts({ key: node.key, document: node.document }), options: { ...node.options } };
      case 'Infer':
      case 'Embed':
      case 'Rerank':
        return this.#modelCall(node);
      case 'Adapter': {
        const { action, subject, domain, shard, options } = node;
        return { action, ...this.#texts({ subject, domain, shard, options }) };
      }
      case 'EmbedRows': {
        const { model, collection, into, text, options } = node;
        return { collection, model, ...this.#texts({ text }), into, options };
      }
      case 'Gather':
        return this.#gather(node);
    }
  }

  #keys(keys: PlanExpression): Details {
    const key = oneKeyOf(keys);
    return this.#texts(key ? { key } : { keys });
  }

  #lookup(keys: PlanExpression | undefined): Details {
    return keys ? { index: 'primary', ...this.#keys(keys) } : {};
  }

  #sortKeys(keys: readonly { readonly variable: VariableId; readonly ascending: boolean }[]): JsonValue {
    return keys.map(({ variable, ascending }) => `${this.#nameOf(variable)} ${ascending ? 'ASC' : 'DESC'}`);
  }

  #collect(node: Extract<PlanNode, { readonly kind: 'Collect' }>): Details {
    const { groups, aggregates, into, count } = node;
    return {
      groups: groups.map(({ variable, expression }) => `${this.#nameOf(variable)} = ${this.#text(expression)}`),
      aggregates: aggregates.map(
        ({ variable, function: name, argument }) => `${this.#nameOf(variable)} = ${name}(${argument ? this.#text(argument) : ''})`,
      ),
      ...(into && { into: this.#nameOf(into.variable) }),
      ...(count !== undefined && { count: this.#nameOf(count) }),
    };
  }

  #modelCall(node: Extract<PlanNode, { readonly kind: 'Infer' | 'Embed' | 'Rerank' }>): Details {
    const { model, variable, options, guards } = node;
    return { outVariable: this.#nameOf(variable), model, ...this.#texts({ ...partsOfCall(node), options }), ...this.#guards(guards) };
  }

  #gather(node: Extract<PlanNode, { readonly kind: 'Gather' }>): Details {
    const { merge } = node;
    const order = merge.kind === 'sorted' ? { keys: this.#sortKeys(merge.keys) } : {};
    const outputs = node.outputs.map(
      ({ variable, projections }) => `${this.#nameOf(variable)}${projections ? ` {${projections.join(', ')}}` : ''}`,
    );
    return {
      collection: node.collection,
      mode: merge.kind,
      ...order,
      outputs,
      ...(node.inputs.length > 0 && { inputs: node.inputs.map(this.#nameOf) }),
      ...(node.writes && { writes: true }),
      ...(node.keys && { shards: oneKeyOf(node.keys) ? 'one' : 'owners of the keys', ...this.#keys(node.keys) }),
    };
  }
}

/** A statement over stored rows begins at the coordinator and does its work where they are. */
const siteOf = (node: PlanNode, site: 'COOR' | 'DBS'): 'COOR' | 'DBS' => (node.kind === 'EmbedRows' ? 'DBS' : site);

const partsOfCall = (node: Extract<PlanNode, { readonly kind: 'Infer' | 'Embed' | 'Rerank' }>) => {
  if (node.kind === 'Embed') return { input: node.input };
  if (node.kind === 'Rerank') return { query: node.query, list: node.list, top: node.top };
  const { prompt, domain, adapter, system, schema, context } = node;
  return { prompt, domain, adapter, system, schema, context };
};

const greatestId = (nodes: readonly PlanNode[]): number =>
  nodes.reduce((greatest, node) => {
    const inner = node.kind === 'Subquery' ? node.nodes : node.kind === 'Gather' ? node.fragment : [];
    return Math.max(greatest, node.id, greatestId(inner));
  }, 0);

/** The key of `_key == key`, which is planned as a list of one. */
const oneKeyOf = (keys: PlanExpression): PlanExpression | undefined =>
  keys.kind === 'array' && keys.items.length === 1 ? keys.items[0] : undefined;
