import { isObject, type JsonValue } from '../../base/index.js';
import { aqlError } from '../errors.js';
import type { FunctionDefinition } from '../functions/FunctionDefinition.js';
import { functionTable } from '../functions/functionTable.js';
import type { PlanExpression } from '../plan/PlanExpression.js';
import { applyBinary, type StrictOperator } from './applyBinary.js';
import { bytesOf } from './bytesOf.js';
import { compileExpansion } from './compileExpansion.js';
import { countNodes } from './countNodes.js';
import type { EvaluationContext } from './EvaluationContext.js';
import { rangeValues } from './rangeValues.js';
import { type OpenObject, setOwn } from './setOwn.js';
import { sizeOfValue } from './sizeOfValue.js';
import { textSteps } from './textSteps.js';
import { toNumber } from './toNumber.js';
import { toText } from './toText.js';
import { attributeOf, isArray, isTrue } from './valueKinds.js';

/** A row of registers: the value of variable v stands at index v; a register not yet written reads as null. */
export type Row = readonly JsonValue[];

/** A compiled expression. Synchronous, without effects but warnings; the same closure serves every row. */
export type CompiledExpression = (row: Row, context: EvaluationContext) => JsonValue;

/**
 * Compiles an expression into nested closures; nothing is ever evaluated as source text. An answer that the expression may have put
 * together is measured: values share their parts, and a few bytes of query could make one of more leaves than can be sent or stored.
 */
export function compileExpression(expression: PlanExpression): CompiledExpression {
  const compiled = compilePart(expression);
  if (!mayCompose(expression)) return compiled;
  return (row, context) => {
    const value = compiled(row, context);
    if (isContainer(value)) demandWithin(value, context);
    return value;
  };
}

function demandWithin(value: JsonValue, context: EvaluationContext): void {
  const bytes = sizeOfValue(value, context.memoryLimitBytes);
  if (bytes > context.memoryLimitBytes) context.allocate(bytes);
}

function mayCompose(expression: PlanExpression): boolean {
  if (expression.kind === 'ternary') return true;
  if (expression.kind === 'binary') return expression.operator === 'AND' || expression.operator === 'OR';
  return ['array', 'object', 'expansion', 'call', 'range'].includes(expression.kind);
}

function compilePart(expression: PlanExpression): CompiledExpression {
  switch (expression.kind) {
    case 'literal': {
      const { value } = expression;
      return () => value;
    }
    case 'variable': {
      const { id } = expression;
      return (row) => row[id] ?? null;
    }
    case 'element': {
      const { slot } = expression;
      return (_, context) => context.scratch[slot] ?? null;
    }
    case 'attribute':
      return compileAttribute(expression);
    case 'index':
      return compileIndex(expression);
    case 'expansion':
      return compileExpansion(expression, compilePart);
    case 'unary':
      return compileUnary(expression);
    case 'binary':
      return compileBinary(expression);
    case 'ternary':
      return compileTernary(expression);
    case 'range': {
      const [from, to] = [compilePart(expression.from), compilePart(expression.to)];
      return (row, context) => rangeValues(from(row, context), to(row, context), context);
    }
    case 'array': {
      const items = expression.items.map(compilePart);
      const bytes = bytesOf.array(items.length);
      return (row, context) => {
        context.allocate(bytes);
        return items.map((item) => item(row, context));
      };
    }
    case 'object':
      return compileObject(expression);
    case 'call':
      return compileCall(expression);
  }
}

type Of<Kind extends PlanExpression['kind']> = Extract<PlanExpression, { readonly kind: Kind }>;

function compileAttribute({ source, name }: Of<'attribute'>): CompiledExpression {
  const compiled = compilePart(source);
  return (row, context) => attributeOf(compiled(row, context), name);
}

function compileIndex(expression: Of<'index'>): CompiledExpression {
  const source = compilePart(expression.source);
  const index = compilePart(expression.index);
  return (row, context) => {
    const value = source(row, context);
    const at = index(row, context);
    if (isArray(value)) return typeof at === 'number' || typeof at === 'string' ? (value.at(Math.trunc(toNumber(at))) ?? null) : null;
    return isObject(value) && at !== null ? attributeOf(value, textOf(at, context)) : null;
  };
}

function compileUnary({ operator, operand }: Of<'unary'>): CompiledExpression {
  const compiled = compilePart(operand);
  if (operator === '!') return (row, context) => !isTrue(compiled(row, context));
  if (operator === '+') return (row, context) => toNumber(compiled(row, context));
  return (row, context) => 0 - toNumber(compiled(row, context));
}

function compileBinary(expression: Of<'binary'>): CompiledExpression {
  const left = compilePart(expression.left);
  const right = compilePart(expression.right);
  const { operator, quantifier } = expression;
  if (operator === 'AND' || operator === 'OR') return compileLogical(left, right, operator === 'OR');
  if (quantifier === undefined) {
    return (row, context) => {
      const value = left(row, context);
      const other = right(row, context);
      countComparison(operator, value, other, context);
      return applyBinary(operator, value, other, context);
    };
  }
  return (row, context) => {
    const values = left(row, context);
    const other = right(row, context);
    const passes = (value: JsonValue): boolean => {
      context.step(1);
      countComparison(operator, value, other, context);
      return applyBinary(operator, value, other, context) === true;
    };
    return isArray(values) && quantified(values, quantifier, passes);
  };
}

/** `&&` and `||` give the operand that decided, unevaluated stays the right one where the left decides. */
const compileLogical = (left: CompiledExpression, right: CompiledExpression, decidedBy: boolean): CompiledExpression => {
  return (row, context) => {
    const value = left(row, context);
    return isTrue(value) === decidedBy ? value : right(row, context);
  };
};

const quantified = (values: readonly JsonValue[], quantifier: 'all' | 'any' | 'none', passes: (value: JsonValue) => boolean): boolean => {
  if (quantifier === 'all') return values.every(passes);
  return values.some(passes) === (quantifier === 'any');
};

function compileTernary(expression: Of<'ternary'>): CompiledExpression {
  const condition = compilePart(expression.condition);
  const whenTrue = expression.whenTrue && compilePart(expression.whenTrue);
  const whenFalse = compilePart(expression.whenFalse);
  return (row, context) => {
    const value = condition(row, context);
    if (!isTrue(value)) return whenFalse(row, context);
    return whenTrue ? whenTrue(row, context) : value;
  };
}

function compileObject({ entries }: Of<'object'>): CompiledExpression {
  const compiled = entries.map(({ key, value }) => ({ key: compilePart(key), value: compilePart(value) }));
  const bytes = bytesOf.object(entries.length);
  return (row, context) => {
    context.allocate(bytes);
    const object: OpenObject = {};
    for (const { key, value } of compiled) setOwn(object, textOf(key(row, context), context), value(row, context));
    return object;
  };
}

function compileCall(expression: Of<'call'>): CompiledExpression {
  const definition = functionTable.get(expression.name);
  if (definition === undefined) throw aqlError('AQL_FUNCTION_UNKNOWN', `unknown function ${expression.name}()`);
  const parameters = expression.arguments.map(compilePart);
  return (row, context) => {
    const values = parameters.map((parameter) => parameter(row, context));
    for (const value of values) countArgument(value, definition.walks, context);
    const result = evaluated(definition, values, context);
    context.allocate(bytesOf.result(result));
    if (typeof result === 'string') context.step(textSteps.ofCopy(result.length));
    return result;
  };
}

/** A text beyond V8's longest or a recursion beyond its stack ends as a RangeError; the limits above make both rare. */
function evaluated(definition: FunctionDefinition, values: readonly JsonValue[], context: EvaluationContext): JsonValue {
  try {
    return definition.evaluate(values, context);
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    throw aqlError('AQL_VALUE_TOO_LARGE', `a function makes a value that is too large: ${thrown.message}`, { cause: thrown });
  }
}

/** Functions that walk may split a text into its characters: the memory for texts beyond this length is counted as if they did. */
const shortTextCharacters = 65_536;
const splitCharacterBytes = 24;

function countArgument(value: JsonValue, walks: boolean, context: EvaluationContext): void {
  if (typeof value === 'string') {
    context.step(textSteps.ofWalk(value.length));
    if (!walks || value.length <= shortTextCharacters) return;
    context.step(textSteps.ofWalk(value.length)); // of the memory that its characters take
    context.allocate(splitCharacterBytes * value.length);
  } else if (walks) countNodes(value, context);
  else if (isArray(value)) context.step(value.length);
}

const isContainer = (value: JsonValue): boolean => typeof value === 'object' && value !== null;

/** Unlike values differ at the first look; IN looks through its right side, two containers are walked together, LIKE reads texts. */
function countComparison(operator: StrictOperator, left: JsonValue, right: JsonValue, context: EvaluationContext): void {
  if (isContainer(left) && isContainer(right)) countNodes(right, context);
  else if (isArray(right)) context.step(right.length);
  else if (operator === 'LIKE' || operator === '=~' || operator === '!~') countNodes(left, context);
}

const textOf = (value: JsonValue, context: EvaluationContext): string => {
  countNodes(value, context);
  return toText(value);
};
