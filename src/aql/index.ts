// aql: lexer, parser, checker, functions, logical plan and its rules. Pure: no clock, no randomness, no network, no storage; a plan and
// its expressions are plain JSON, so that a fragment can run on the shard that owns the documents.
export { type AstDescription, describeAst } from './describeAst.js';
export { aqlError, aqlErrors } from './errors.js';
export { type CompiledExpression, compileExpression, type Row } from './evaluation/compileExpression.js';
export type { EvaluationContext } from './evaluation/EvaluationContext.js';
export { rangeBounds } from './evaluation/rangeValues.js';
export { type OpenObject, setOwn } from './evaluation/setOwn.js';
export { sizeOfValue } from './evaluation/sizeOfValue.js';
export { toText } from './evaluation/toText.js';
export { attributeOf, isArray, isTrue, type JsonObject } from './evaluation/valueKinds.js';
export { type ExplainedNode, type ExplainedPlan, explainPlan } from './explainPlan.js';
export { functionTable } from './functions/functionTable.js';
export { aqlLimits } from './limits.js';
export { parseAql } from './parseAql.js';
export { expressionsOf } from './plan/expressionsOf.js';
export { isDeterministic } from './plan/isDeterministic.js';
export type { PlanExpression, VariableId } from './plan/PlanExpression.js';
export type {
  AdapterNode,
  CollectNode,
  EmbedNode,
  EmbedRowsNode,
  GatherNode,
  Guard,
  InferNode,
  ModificationNode,
  ModificationOptions,
  PlanNode,
  RerankNode,
  SortKey,
} from './plan/PlanNode.js';
export type { PlanWarning, QueryPlan } from './plan/QueryPlan.js';
export { definedVariables, usedVariables } from './plan/usedVariables.js';
export { optimizerRuleNames, planQuery, type QueryText } from './planQuery.js';
export type { Ast } from './syntax/Ast.js';
