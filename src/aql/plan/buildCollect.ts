import type { CollectOperation, Expression } from '../syntax/Ast.js';
import type { PlanBuilder } from './PlanBuilder.js';
import type { PlanExpression } from './PlanExpression.js';
import type { CollectNode } from './PlanNode.js';

const countFunctions = new Set(['COUNT', 'LENGTH']);

/** Functions that AGGREGATE takes; each is also a function of the array of the group's values. */
const aggregateFunctions = new Set(
  (
    'COUNT LENGTH SUM MIN MAX AVG AVERAGE UNIQUE SORTED_UNIQUE COUNT_DISTINCT COUNT_UNIQUE PUSH ' +
    'VARIANCE VARIANCE_POPULATION VARIANCE_SAMPLE STDDEV STDDEV_POPULATION STDDEV_SAMPLE'
  ).split(' '),
);

type Builder = { build(expression: Expression): PlanExpression };

/** COLLECT: everything is read in the scope before it; after it only its own variables remain in scope. */
export function buildCollect(builder: PlanBuilder, expressions: Builder, operation: CollectOperation): void {
  const { into, count } = operation;
  const groups = operation.groups.map((group) => ({ ...group, expression: expressions.build(group.expression) }));
  const aggregates = operation.aggregates.map((aggregate) => buildAggregate(builder, expressions, aggregate));
  const members = into && buildMembers(builder, expressions, into);
  builder.scopes.clearFrame();
  const node: Omit<CollectNode, 'id' | 'dependencies'> = {
    kind: 'Collect',
    groups: groups.map(({ variable, at, expression }) => ({ variable: builder.declare(variable, at), expression })),
    aggregates: aggregates.map(({ variable, at, ...rest }) => ({ variable: builder.declare(variable, at), ...rest })),
    ...(into && members && { into: { variable: builder.declare(into.variable, into.at), ...members } }),
    ...(count && { count: builder.declare(count.variable, count.at) }),
  };
  builder.append(node);
}

function buildAggregate(builder: PlanBuilder, expressions: Builder, aggregate: CollectOperation['aggregates'][number]) {
  const name = aggregate.function.toUpperCase();
  const { variable, at, arguments: parameters } = aggregate;
  if (!aggregateFunctions.has(name)) throw builder.errorAt('AQL_AGGREGATE_INVALID', at, `${name}() is no aggregate function,`);
  const least = countFunctions.has(name) ? 0 : 1;
  if (parameters.length > 1 || parameters.length < least)
    throw builder.errorAt(
      'AQL_ARGUMENT_COUNT',
      at,
      `${name}() in AGGREGATE takes ${least === 0 ? '0 to 1' : '1'} arguments, not ${parameters.length},`,
    );
  const [argument] = parameters;
  return { variable, at, function: name, ...(argument && { argument: expressions.build(argument) }) };
}

function buildMembers(builder: PlanBuilder, expressions: Builder, into: NonNullable<CollectOperation['into']>) {
  if (into.projection) return { projection: expressions.build(into.projection), keep: [] };
  const keep = into.keep?.map((name) => ({ name, variable: builder.lookup(name, into.at) })) ?? builder.scopes.frameVariables();
  return { keep };
}
