import type { JsonValue } from '../../base/index.js';
import type { EmbedRowsOperation, Expression } from '../syntax/Ast.js';
import { notSupported } from '../syntax/notSupported.js';
import { modelName } from './buildModelCall.js';
import { evaluateConstant } from './evaluateConstant.js';
import { isDeterministic } from './isDeterministic.js';
import type { PlanBuilder } from './PlanBuilder.js';
import type { PlanExpression, VariableId } from './PlanExpression.js';

type Builder = { build(expression: Expression): PlanExpression };

const systemAttributes = ['_key', '_id', '_rev', '_from', '_to'];

/** `LLM EMBED … FOR` (R28). Its text is worked out on each row again and again, so that it must be a matter of the row alone. */
export function buildEmbedRows(builder: PlanBuilder, expressions: Builder, operation: EmbedRowsOperation): void {
  const collection = collectionName(builder, operation.collection);
  builder.access(collection, 'write', operation.collection.at);
  const model = modelName(builder, operation.model);
  const into = attributeName(builder, operation.into);
  const options = operation.options ? constantOptions(builder, expressions, operation.options) : {};
  const variable = builder.newVariable();
  builder.append({ kind: 'EmbedRows', variable, model, collection, ...textOf(builder, expressions, operation), into, options });
  builder.append({ kind: 'Return', value: { kind: 'variable', id: variable }, distinct: false });
}

function collectionName(builder: PlanBuilder, collection: Expression): string {
  if (collection.kind === 'collectionBind') return builder.binds.collection(collection.name, collection.at);
  return collection.kind === 'reference' ? collection.name : '';
}

function textOf(
  builder: PlanBuilder,
  expressions: Builder,
  { variable, variableAt, source }: EmbedRowsOperation,
): { readonly document: VariableId; readonly text: PlanExpression } {
  let document: VariableId = 0;
  let text: PlanExpression = { kind: 'literal', value: null };
  const nodes = builder.sequence(() => {
    document = builder.declare(variable, variableAt);
    text = expressions.build(source);
  });
  const place = { text: builder.text, at: source.at };
  if (nodes.length > 1) throw notSupported(place, 'a subquery or a model call in the text of LLM EMBED … FOR', 'R28');
  if (!isDeterministic(text)) throw notSupported(place, 'a text of LLM EMBED … FOR that differs from time to time', 'R28');
  return { document, text };
}

function attributeName(builder: PlanBuilder, into: Expression): string {
  const name = into.kind === 'bind' ? builder.binds.text(into.name, into.at, 'the name of an attribute') : textOfLiteral(into);
  if (name !== '' && !systemAttributes.includes(name)) return name;
  throw builder.errorAt('AQL_PARSE', into.at, 'INTO takes the name of an attribute that is not the system’s,');
}

const textOfLiteral = (expression: Expression): string => (expression.kind === 'literal' ? String(expression.value) : '');

function constantOptions(builder: PlanBuilder, expressions: Builder, options: Expression): JsonValue {
  const value = evaluateConstant(expressions.build(options));
  if (value !== undefined) return value;
  throw builder.errorAt('AQL_OPTION_INVALID', options.at, 'OPTIONS takes a constant object,');
}
