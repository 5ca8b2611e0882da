import type { JsonValue } from '../../base/index.js';
import { aqlError } from '../errors.js';
import { functionTable } from '../functions/functionTable.js';
import type { PlanExpression } from '../plan/PlanExpression.js';
import { applyBinary } from './applyBinary.js';
import { compileExpansion } from './compileExpansion.js';
import type { EvaluationContext } from './EvaluationContext.js';
import { rangeValues } from './rangeValues.js';
import { type OpenObject, setOwn } from './setOwn.js';
import { toNumber } from './toNumber.js';
import { toText } from './toText.js';
import { attributeOf, isArray, isObject, isTrue } from './valueKinds.js';

/** A row of registers: the value of variable v stands at index v; a register not yet written reads as null. */
export type Row = readonly JsonValue[];

/** A compiled expression. Synchronous, without effects but warnings; the same closure serves every row. */
export type CompiledExpression = (row: Row, context: EvaluationContext) => JsonValue;

/** Compiles an expression into nested closures; nothing is ever evaluated as source text. */
export function compileExpression(expression: PlanExpression): CompiledExpression {
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
      return compileExpansion(expression, compileExpression);
    case 'unary':
      return compileUnary(expression);
    case 'binary':
      return compileBinary(expression);
    case 'ternary':
      return compileTernary(expression);
    case 'range': {
      const [from, to] = [compileExpression(expression.from), compileExpression(expression.to)];
      return (row, context) => {
        const values = rangeValues(from(row, context), to(row, context));
        context.step(values.length);
        return values;
      };
    }
    case 'array': {
      const items = expression.items.map(compileExpression);
      return (row, context) => items.map((item) => item(row, context));
    }
    case 'object':
      return compileObject(expression);
    case 'call':
      return compileCall(expression);
  }
}

type Of<Kind extends PlanExpression['kind']> = Extract<PlanExpression, { readonly kind: Kind }>;

function compileAttribute({ source, name }: Of<'attribute'>): CompiledExpression {
  const compiled = compileExpression(source);
  return (row, context) => attributeOf(compiled(row, context), name);
}

function compileIndex(expression: Of<'index'>): CompiledExpression {
  const source = compileExpression(expression.source);
  const index = compileExpression(expression.index);
  return (row, context) => {
    const value = source(row, context);
    const at = index(row, context);
    if (isArray(value)) return typeof at === 'number' || typeof at === 'string' ? (value.at(Math.trunc(toNumber(at))) ?? null) : null;
    return isObject(value) && at !== null ? attributeOf(value, toText(at)) : null;
  };
}

function compileUnary({ operator, operand }: Of<'unary'>): CompiledExpression {
  const compiled = compileExpression(operand);
  if (operator === '!') return (row, context) => !isTrue(compiled(row, context));
  if (operator === '+') return (row, context) => toNumber(compiled(row, context));
  return (row, context) => 0 - toNumber(compiled(row, context));
}

function compileBinary(expression: Of<'binary'>): CompiledExpression {
  const left = compileExpression(expression.left);
  const right = compileExpression(expression.right);
  const { operator, quantifier } = expression;
  if (operator === 'AND' || operator === 'OR') return compileLogical(left, right, operator === 'OR');
  if (quantifier === undefined) {
    return (row, context) => {
      const other = right(row, context);
      if (isArray(other)) context.step(other.length);
      return applyBinary(operator, left(row, context), other, context);
    };
  }
  return (row, context) => {
    const values = left(row, context);
    const other = right(row, context);
    const passes = (value: JsonValue): boolean => {
      context.step(isArray(other) ? other.length : 1);
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
  const condition = compileExpression(expression.condition);
  const whenTrue = expression.whenTrue && compileExpression(expression.whenTrue);
  const whenFalse = compileExpression(expression.whenFalse);
  return (row, context) => {
    const value = condition(row, context);
    if (!isTrue(value)) return whenFalse(row, context);
    return whenTrue ? whenTrue(row, context) : value;
  };
}

function compileObject({ entries }: Of<'object'>): CompiledExpression {
  const compiled = entries.map(({ key, value }) => ({ key: compileExpression(key), value: compileExpression(value) }));
  return (row, context) => {
    const object: OpenObject = {};
    for (const { key, value } of compiled) setOwn(object, toText(key(row, context)), value(row, context));
    return object;
  };
}

function compileCall(expression: Of<'call'>): CompiledExpression {
  const definition = functionTable.get(expression.name);
  if (definition === undefined) throw aqlError('AQL_FUNCTION_UNKNOWN', `unknown function ${expression.name}()`);
  const parameters = expression.arguments.map(compileExpression);
  return (row, context) =>
    definition.evaluate(
      parameters.map((parameter) => parameter(row, context)),
      context,
    );
}
