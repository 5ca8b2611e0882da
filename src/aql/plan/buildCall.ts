import type { OstrakaError } from '../../base/index.js';
import { absentFunctions } from '../functions/absentFunctions.js';
import type { FunctionDefinition } from '../functions/FunctionDefinition.js';
import { functionTable } from '../functions/functionTable.js';
import type { Expression } from '../syntax/Ast.js';
import { aqlErrorAt } from '../syntax/aqlErrorAt.js';
import { notSupported } from '../syntax/notSupported.js';
import { suggestName } from '../syntax/suggestName.js';
import { buildModelCall, type ModelCallContext } from './buildModelCall.js';

import type { PlanExpression } from './PlanExpression.js';

type Call = Extract<Expression, { readonly kind: 'call' }>;

/** A call: its function is known (1540) and takes this many arguments (1541). INFER(), EMBED() and RERANK() are the twins of the operators. */
export function buildCall(expressions: ModelCallContext, call: Call): PlanExpression {
  const name = call.name.toUpperCase();
  if (name === 'INFER' || name === 'EMBED') return buildTwin(expressions, call, name);
  if (name === 'RERANK') return buildRerankTwin(expressions, call);
  const counted = name === 'LENGTH' || name === 'COUNT' ? countedCollection(expressions, call) : undefined;
  if (counted !== undefined) return counted;
  const place = { text: expressions.builder.text, at: call.at };
  const definition = functionTable.get(name);
  if (definition === undefined) throw unknownFunction(place, name);
  checkCount(place, name, { definition, given: call.arguments.length });
  return { kind: 'call', name, arguments: call.arguments.map((argument) => expressions.build(argument)) };
}

interface Place {
  readonly text: string;
  readonly at: number;
}

function unknownFunction(place: Place, name: string): OstrakaError {
  const requirement = absentFunctions.get(name);
  if (requirement !== undefined) return notSupported(place, `the function ${name}()`, requirement);
  const near = suggestName(name, functionTable.keys());
  const hint = near === undefined ? '' : `, did you mean ${near}()?,`;
  return aqlErrorAt('AQL_FUNCTION_UNKNOWN', place, `unknown function ${name}()${hint}`);
}

function checkCount(place: Place, name: string, call: { readonly definition: FunctionDefinition; readonly given: number }): void {
  const { argumentsMin: min, argumentsMax: max } = call.definition;
  if (call.given >= min && call.given <= max) return;
  const takes = max === Number.POSITIVE_INFINITY ? `at least ${min}` : min === max ? String(min) : `${min} to ${max}`;
  throw aqlErrorAt('AQL_ARGUMENT_COUNT', place, `${name}() takes ${takes} arguments, not ${call.given},`);
}

function buildTwin(expressions: ModelCallContext, call: Call, name: 'INFER' | 'EMBED'): PlanExpression {
  const [model, input, options] = call.arguments;
  const place = { text: expressions.builder.text, at: call.at };
  if (model === undefined || input === undefined || call.arguments.length > 3)
    throw aqlErrorAt('AQL_ARGUMENT_COUNT', place, `${name}() takes 2 to 3 arguments, not ${call.arguments.length},`);
  const shared = { at: call.at, model, ...(options && { options }) };
  const twin: Expression = name === 'INFER' ? { kind: 'infer', ...shared, prompt: input } : { kind: 'embed', ...shared, input };
  return { kind: 'variable', id: buildModelCall(expressions, twin, {}) };
}

function buildRerankTwin(expressions: ModelCallContext, call: Call): PlanExpression {
  const [model, query, list, options] = call.arguments;
  const place = { text: expressions.builder.text, at: call.at };
  if (model === undefined || query === undefined || list === undefined || call.arguments.length > 4)
    throw aqlErrorAt('AQL_ARGUMENT_COUNT', place, `RERANK() takes 3 to 4 arguments, not ${call.arguments.length},`);
  const twin: Expression = { kind: 'rerank', at: call.at, model, query, list, ...(options && { options }) };
  return { kind: 'variable', id: buildModelCall(expressions, twin, {}) };
}

/** `LENGTH(passages)`: the number of documents, counted where they are. Any name that is no variable is read as a collection here. */
function countedCollection(expressions: ModelCallContext, call: Call): PlanExpression | undefined {
  const [argument] = call.arguments;
  const { builder } = expressions;
  if (call.arguments.length !== 1 || (argument?.kind !== 'reference' && argument?.kind !== 'collectionBind')) return undefined;
  if (argument.kind === 'reference' && (builder.scopes.find(argument.name) !== undefined || argument.name === 'CURRENT')) return undefined;
  expressions.refuseInExpansion(call.at, 'the count of a collection');
  const collection = argument.kind === 'reference' ? argument.name : builder.binds.collection(argument.name, argument.at);
  builder.access(collection, 'read', argument.at);
  const count = builder.newVariable();
  const nodes = builder.sequence(() => {
    builder.append({ kind: 'EnumerateCollection', collection, variable: builder.newVariable() });
    builder.append({ kind: 'Collect', groups: [], aggregates: [], count });
    builder.append({ kind: 'Return', value: { kind: 'variable', id: count }, distinct: false });
  });
  const variable = builder.newVariable();
  builder.append({ kind: 'Subquery', variable, nodes, guards: builder.guards });
  return { kind: 'call', name: 'FIRST', arguments: [{ kind: 'variable', id: variable }] };
}
