import type { JsonValue } from '../../base/index.js';
import { type OpenObject, setOwn } from '../evaluation/setOwn.js';
import { toText } from '../evaluation/toText.js';
import type { Expression, Operation } from '../syntax/Ast.js';
import { notSupported } from '../syntax/notSupported.js';
import { buildCall } from './buildCall.js';
import { buildModelCall } from './buildModelCall.js';
import { containsLift } from './containsLift.js';
import type { PlanBuilder } from './PlanBuilder.js';
import type { PlanExpression, VariableId } from './PlanExpression.js';

type Of<Kind extends Expression['kind']> = Extract<Expression, { readonly kind: Kind }>;

const literal = (value: JsonValue): PlanExpression => ({ kind: 'literal', value });

/**
 * Resolves names, substitutes bind parameters, and lifts subqueries and model calls out of expressions into nodes before the one that
 * needs them, guarded by the conditions under which their branch is taken: an expression itself never waits (rule lift-infer).
 */
export class ExpressionBuilder {
  readonly builder: PlanBuilder;
  readonly #buildSubquery: (operations: readonly Operation[]) => VariableId;
  /** Slots of the expansions around the expression being read, innermost last. */
  readonly #expansions: { readonly currentSlot: number; readonly tailSlot: number }[] = [];

  constructor(builder: PlanBuilder, buildSubquery: (operations: readonly Operation[]) => VariableId) {
    this.builder = builder;
    this.#buildSubquery = buildSubquery;
  }

  build(expression: Expression): PlanExpression {
    switch (expression.kind) {
      case 'literal':
        return literal(expression.value);
      case 'bind':
        return literal(this.builder.binds.value(expression.name));
      case 'collectionBind':
        throw notSupported({ text: this.builder.text, at: expression.at }, 'a collection as a value', 'R13');
      case 'reference':
        return this.#buildReference(expression);
      case 'element':
        return { kind: 'element', slot: this.#expansions.at(-1)?.tailSlot ?? 0 };
      case 'attribute':
        return { kind: 'attribute', source: this.build(expression.source), name: expression.name };
      case 'attributeBind':
        return this.#buildAttributeBind(expression);
      case 'index':
        return { kind: 'index', source: this.build(expression.source), index: this.build(expression.index) };
      case 'expansion':
        return this.#buildExpansion(expression);
      case 'unary':
        return this.#buildUnary(expression);
      case 'binary':
        return this.#buildBinary(expression);
      case 'ternary':
        return this.#buildTernary(expression);
      case 'range':
        return { kind: 'range', from: this.build(expression.from), to: this.build(expression.to) };
      case 'array':
        return this.#buildArray(expression);
      case 'object':
        return this.#buildObject(expression);
      case 'call':
        return buildCall(this, expression);
      case 'subquery':
        this.refuseInExpansion(expression.at, 'a subquery');
        return { kind: 'variable', id: this.#buildSubquery(expression.operations) };
      case 'infer':
      case 'embed':
      case 'rerank':
        return { kind: 'variable', id: buildModelCall(this, expression, {}) };
    }
  }

  /** Nothing that waits can run per element of an expansion. */
  refuseInExpansion(at: number, what: string): void {
    if (this.#expansions.length > 0) throw notSupported({ text: this.builder.text, at }, `${what} inside [* …]`, 'R13');
  }

  #buildReference({ name, at }: Of<'reference'>): PlanExpression {
    const expansion = this.#expansions.at(-1);
    if (name === 'CURRENT' && expansion) return { kind: 'element', slot: expansion.currentSlot };
    return { kind: 'variable', id: this.builder.lookup(name, at) };
  }

  #buildAttributeBind({ source, bind, at }: Of<'attributeBind'>): PlanExpression {
    const value = this.builder.binds.value(bind);
    const path = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
    if (path.length === 0 || !path.every((step) => typeof step === 'string'))
      throw this.builder.errorAt('AQL_BIND_TYPE', at, `bind parameter @${bind} must be an attribute name or a list of them,`);
    return (path as readonly string[]).reduce<PlanExpression>(
      (inner, name) => ({ kind: 'attribute', source: inner, name }),
      this.build(source),
    );
  }

  #buildExpansion(expression: Of<'expansion'>): PlanExpression {
    const source = this.build(expression.source);
    const slots = { currentSlot: this.builder.slotCount++, tailSlot: this.builder.slotCount++ };
    this.#expansions.push(slots);
    const { filter, limit, projection, levels } = expression;
    const built = {
      ...(filter && { filter: this.build(filter) }),
      ...(limit?.offset && { offset: this.build(limit.offset) }),
      ...(limit && { count: this.build(limit.count) }),
      ...(projection && { projection: this.build(projection) }),
    };
    const tail = this.build(expression.tail);
    this.#expansions.pop();
    return { kind: 'expansion', source, levels, ...slots, ...built, tail };
  }

  #buildUnary({ operator, operand }: Of<'unary'>): PlanExpression {
    const built = this.build(operand);
    if (operator === '-' && built.kind === 'literal' && typeof built.value === 'number') return literal(0 - built.value);
    return { kind: 'unary', operator, operand: built };
  }

  #buildBinary({ operator, left, right, quantifier }: Of<'binary'>): PlanExpression {
    if (quantifier?.kind === 'atLeast') throw notSupported({ text: this.builder.text, at: left.at }, 'AT LEAST', 'R13');
    if ((operator === 'AND' || operator === 'OR') && containsLift(right)) {
      const condition = this.calculated(left);
      const guarded = this.builder.guarded({ variable: condition, wanted: operator === 'AND' }, () => this.build(right));
      return { kind: 'binary', operator, left: { kind: 'variable', id: condition }, right: guarded };
    }
    return {
      kind: 'binary',
      operator,
      left: this.build(left),
      right: this.build(right),
      ...(quantifier && { quantifier: quantifier.kind }),
    };
  }

  #buildTernary(expression: Of<'ternary'>): PlanExpression {
    const { whenTrue, whenFalse } = expression;
    if (!(whenTrue && containsLift(whenTrue)) && !containsLift(whenFalse)) {
      const condition = this.build(expression.condition);
      return { kind: 'ternary', condition, ...(whenTrue && { whenTrue: this.build(whenTrue) }), whenFalse: this.build(whenFalse) };
    }
    const variable = this.calculated(expression.condition);
    const branch = (part: Expression, wanted: boolean) => this.builder.guarded({ variable, wanted }, () => this.build(part));
    const condition: PlanExpression = { kind: 'variable', id: variable };
    return { kind: 'ternary', condition, ...(whenTrue && { whenTrue: branch(whenTrue, true) }), whenFalse: branch(whenFalse, false) };
  }

  /** The expression's value as a variable of its own. */
  calculated(expression: Expression): VariableId {
    const built = this.build(expression);
    if (built.kind === 'variable') return built.id;
    const variable = this.builder.newVariable();
    this.builder.append({ kind: 'Calculation', variable, expression: built });
    return variable;
  }

  #buildArray({ items }: Of<'array'>): PlanExpression {
    const built = items.map((item) => this.build(item));
    const constant = built.every((item) => item.kind === 'literal');
    return constant ? literal(built.map((item) => item.value)) : { kind: 'array', items: built };
  }

  #buildObject({ entries }: Of<'object'>): PlanExpression {
    const built = entries.map(({ key, value }) => ({
      key: key.kind === 'name' ? literal(key.name) : this.build(key.expression),
      value: this.build(value),
    }));
    const object: OpenObject = {};
    for (const { key, value } of built) {
      if (key.kind !== 'literal' || value.kind !== 'literal') return { kind: 'object', entries: built };
      setOwn(object, toText(key.value), value.value);
    }
    return literal(object);
  }
}
