import type { PlanExpression } from './PlanExpression.js';
import type { PlanNode } from './PlanNode.js';

const present = (expressions: readonly (PlanExpression | undefined)[]): readonly PlanExpression[] =>
  expressions.filter((expression) => expression !== undefined);

/** The expressions a node itself evaluates; not those of nested sequences. */
export function expressionsOf(node: PlanNode): readonly PlanExpression[] {
  switch (node.kind) {
    case 'Singleton':
    case 'Limit':
    case 'Sort':
    case 'Subquery':
    case 'EmbedRows': // its text is worked out on rows that no register of the sequence holds
      return [];
    case 'EnumerateCollection':
    case 'Gather':
      return present([node.keys]);
    case 'EnumerateList':
      return [node.list];
    case 'Calculation':
      return [node.expression];
    case 'Filter':
      return [node.condition];
    case 'Return':
      return [node.value];
    case 'Collect':
      return present([
        ...node.groups.map((group) => group.expression),
        ...node.aggregates.map((one) => one.argument),
        node.into?.projection,
      ]);
    case 'Insert':
    case 'Update':
    case 'Replace':
    case 'Remove':
      return present([node.key, node.document]);
    case 'Infer':
      return present([node.prompt, node.domain, node.adapter, node.system, node.schema, node.context, node.options]);
    case 'Embed':
      return present([node.input, node.options]);
    case 'Adapter':
      return present([node.subject, node.domain, node.shard, node.options]);
    case 'Rerank':
      return present([node.query, node.list, node.top, node.options]);
  }
}
