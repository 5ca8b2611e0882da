import { type JsonValue, OstrakaError } from '../../base/index.js';
import { toolCallForm } from '../../platform/index.js';
import { inferenceError } from '../errors.js';
import type { CompileBudget } from './CompileBudget.js';
import { type Expression, expr, type Rules } from './Expression.js';
import { prefixRules } from './prefixRules.js';
import { relaxSchema } from './relaxSchema.js';
import { SchemaCompiler } from './SchemaCompiler.js';
import { isList, isSchema } from './schemaKeywords.js';
import type { ToolCallConstraint } from './ToolCallConstraint.js';
import { textWithout } from './textWithout.js';

type Tool = ToolCallConstraint['tools'][number];

const { text, sequence, choice, repeat, rule } = expr;
/** Keywords that one schema may lose; a schema with more of them is taken for that of any object. */
const relaxationsMax = 64;
const anyObject = { type: 'object' };

/**
 * The rules of an answer with calls; `textRules` are those of its text, where that has a form. Errors: CONSTRAINT_INVALID and, for a strict
 * tool, CONSTRAINT_NOT_SUPPORTED, both with the tool's name, CONSTRAINT_TOO_LARGE.
 */
export function toolCallRules({ tools, callsMax, text: before }: ToolCallConstraint, textRules: Rules, budget: CompileBudget): Rules {
  const rules = new Map<string, Expression>(prefixRules(textRules, 'text '));
  const add = (more: Rules): void => {
    for (const [name, expression] of more) rules.set(name, expression);
    budget.check('rulesMax', rules.size);
  };
  for (const [index, tool] of tools.entries()) add(prefixRules(argumentRules(tool, budget), `tool ${index} `));
  const further = sequence(text(toolCallForm.between + toolCallForm.opening), rule('call'));
  add(new Map([['call', callOf(tools)]]));
  add(new Map([['calls', sequence(rule('call'), repeat(further, 0, callsMax - 1))]]));
  const opened = sequence(text(toolCallForm.opening), rule('calls'));
  if (before === 'free') add(textWithout(toolCallForm.opening, tools.length === 0 ? choice() : rule('calls'), 'free'));
  rules.set('root', before === 'none' ? opened : before === 'free' ? rule('free 0') : orCalls(tools, opened));
  return rules;
}

const orCalls = (tools: readonly Tool[], calls: Expression): Expression =>
  tools.length === 0 ? rule('text root') : choice(rule('text root'), calls);

/** What follows the opening of a call. */
function callOf(tools: readonly Tool[]): Expression {
  const { beforeName, beforeArguments, afterArguments } = toolCallForm;
  const named = tools.map(({ name }, index) =>
    sequence(text(JSON.stringify(name).slice(1, -1) + beforeArguments), rule(`tool ${index} root`)),
  );
  return sequence(text(beforeName), choice(...named), text(afterArguments));
}

function argumentRules({ name, parameters, strict }: Tool, budget: CompileBudget): Rules {
  let schema = parameters;
  for (let relaxations = 0; ; relaxations++) {
    try {
      return new SchemaCompiler(ofObject(schema), budget).compile();
    } catch (error) {
      if (!(error instanceof OstrakaError)) throw error;
      if (strict || error.code !== 'CONSTRAINT_NOT_SUPPORTED') throw ofTool(name, error);
      schema = relaxations < relaxationsMax ? relaxSchema(schema, error.data) : anyObject;
    }
  }
}

/** Arguments are an object, whether or not the schema says so. */
function ofObject(schema: JsonValue): JsonValue {
  if (schema === true) return anyObject;
  if (!isSchema(schema)) throw inferenceError('CONSTRAINT_INVALID', 'the schema is no object');
  const { type = 'object' } = schema;
  if (type !== 'object' && !(isList(type) && type.includes('object')))
    throw inferenceError('CONSTRAINT_INVALID', '#: arguments are of type object');
  return { ...schema, type: 'object' };
}

const ofTool = (name: string, error: OstrakaError): OstrakaError =>
  inferenceError(error.code as 'CONSTRAINT_INVALID', `the parameters of tool "${name}": ${error.message}`, {
    data: { ...error.data, tool: name, param: 'tools' },
    cause: error,
  });
