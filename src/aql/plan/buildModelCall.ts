import type { EmbedExpression, Expression, InferExpression, RerankExpression } from '../syntax/Ast.js';
import type { PlanBuilder } from './PlanBuilder.js';
import type { PlanExpression, VariableId } from './PlanExpression.js';

/** What a model call needs of the expression builder. */
export interface ModelCallContext {
  readonly builder: PlanBuilder;
  build(expression: Expression): PlanExpression;
  refuseInExpansion(at: number, what: string): void;
}

/** Appends the Infer, Embed or Rerank node of a call and returns the variable that will hold its result (a given one, or a new one). */
export function buildModelCall(
  context: ModelCallContext,
  call: InferExpression | EmbedExpression | RerankExpression,
  options: { readonly variable?: VariableId; readonly wholeQuery?: boolean },
): VariableId {
  const { builder } = context;
  context.refuseInExpansion(call.at, 'a model call');
  const model = modelName(builder, call.model);
  const parts = partsOf(context, call);
  const tail = call.options ? { options: context.build(call.options) } : {};
  const variable = options.variable ?? builder.newVariable();
  const shared = { variable, model, ...tail, guards: builder.guards };
  if (parts.kind === 'Infer') builder.append({ ...shared, ...parts, wholeQuery: options.wholeQuery ?? false });
  else builder.append({ ...shared, ...parts });
  return variable;
}

/** Of a call or a statement. Error AQL_BIND_TYPE. */
export function modelName(builder: PlanBuilder, model: Expression): string {
  if (model.kind === 'bind') return builder.binds.text(model.name, model.at, 'the name of a model');
  if (model.kind === 'literal' && typeof model.value === 'string') return model.value;
  throw builder.errorAt('AQL_BIND_TYPE', model.at, 'the model must be a string or a bind parameter,');
}

function partsOf(context: ModelCallContext, call: InferExpression | EmbedExpression | RerankExpression) {
  switch (call.kind) {
    case 'infer':
      return { kind: 'Infer' as const, ...inferParts(context, call) };
    case 'embed':
      return { kind: 'Embed' as const, input: context.build(call.input) };
    case 'rerank': {
      const [query, list] = [context.build(call.query), context.build(call.list)];
      return { kind: 'Rerank' as const, query, list, ...(call.top && { top: context.build(call.top) }) };
    }
  }
}

function inferParts(context: ModelCallContext, call: InferExpression) {
  const { domain, adapter, system, schema, context: passages } = call;
  return {
    prompt: context.build(call.prompt),
    ...(domain && { domain: context.build(domain) }),
    ...(adapter && { adapter: context.build(adapter) }),
    ...(system && { system: context.build(system) }),
    ...(schema && { schema: context.build(schema) }),
    ...(passages && { context: context.build(passages) }),
  };
}
