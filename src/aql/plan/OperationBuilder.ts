import { assertNever } from '../../base/index.js';
import type { Expression, Operation } from '../syntax/Ast.js';
import { buildCollect } from './buildCollect.js';
import { buildEmbedRows } from './buildEmbedRows.js';
import { buildModelCall } from './buildModelCall.js';
import { buildModification } from './buildModification.js';
import { ExpressionBuilder } from './ExpressionBuilder.js';
import { evaluateConstant } from './evaluateConstant.js';
import type { PlanBuilder } from './PlanBuilder.js';
import type { PlanExpression, VariableId } from './PlanExpression.js';
import type { SortKey } from './PlanNode.js';

type Of<Kind extends Operation['kind']> = Extract<Operation, { readonly kind: Kind }>;

/** Turns operations into the nodes of a sequence. */
export class OperationBuilder {
  readonly #builder: PlanBuilder;
  readonly #expressions: ExpressionBuilder;

  constructor(builder: PlanBuilder) {
    this.#builder = builder;
    this.#expressions = new ExpressionBuilder(builder, (operations) => this.#buildSubquery(operations));
  }

  buildAll(operations: readonly Operation[]): void {
    const [only] = operations;
    if (operations.length === 1 && only?.kind === 'return' && only.value.kind === 'infer') {
      const id = buildModelCall(this.#expressions, only.value, { wholeQuery: true });
      this.#builder.append({ kind: 'Return', value: { kind: 'variable', id }, distinct: only.distinct });
      return;
    }
    for (const operation of operations) this.#build(operation);
  }

  #buildSubquery(operations: readonly Operation[]): VariableId {
    const nodes = this.#builder.sequence(() => {
      for (const operation of operations) this.#build(operation);
    });
    const variable = this.#builder.newVariable();
    this.#builder.append({ kind: 'Subquery', variable, nodes, guards: this.#builder.guards });
    return variable;
  }

  #build(operation: Operation): void {
    switch (operation.kind) {
      case 'for':
        this.#buildFor(operation);
        break;
      case 'let':
        this.#buildLet(operation);
        break;
      case 'filter':
        this.#builder.append({ kind: 'Filter', condition: this.#expressions.build(operation.condition) });
        break;
      case 'sort':
        this.#buildSort(operation);
        break;
      case 'limit':
        this.#buildLimit(operation);
        break;
      case 'collect':
        buildCollect(this.#builder, this.#expressions, operation);
        break;
      case 'modification':
        buildModification(this.#builder, this.#expressions, operation);
        break;
      case 'adapter':
        this.#buildAdapter(operation);
        break;
      case 'embedRows':
        buildEmbedRows(this.#builder, this.#expressions, operation);
        break;
      case 'return':
        this.#builder.append({ kind: 'Return', value: this.#expressions.build(operation.value), distinct: operation.distinct });
        break;
      default:
        assertNever(operation);
    }
  }

  /** Its rows are what the query returns. */
  #buildAdapter({ action, subject, domain, shard, options }: Of<'adapter'>): void {
    const parts = {
      ...(subject && { subject: this.#expressions.build(subject) }),
      ...(domain && { domain: this.#expressions.build(domain) }),
      ...(shard && { shard: this.#expressions.build(shard) }),
      ...(options && { options: this.#expressions.build(options) }),
    };
    const variable = this.#builder.newVariable();
    this.#builder.append({ kind: 'Adapter', action, variable, ...parts });
    this.#builder.append({ kind: 'Return', value: { kind: 'variable', id: variable }, distinct: false });
  }

  #buildFor({ source, variable: name, variableAt }: Of<'for'>): void {
    const collection = this.#collectionOf(source);
    if (collection === undefined) {
      const list = this.#expressions.build(source);
      this.#builder.append({ kind: 'EnumerateList', list, variable: this.#builder.declare(name, variableAt) });
      return;
    }
    this.#builder.access(collection, 'read', source.at);
    this.#builder.append({ kind: 'EnumerateCollection', collection, variable: this.#builder.declare(name, variableAt) });
  }

  /** A name that is no variable is a collection. */
  #collectionOf(source: Expression): string | undefined {
    if (source.kind === 'collectionBind') return this.#builder.binds.collection(source.name, source.at);
    return source.kind === 'reference' && this.#builder.scopes.find(source.name) === undefined ? source.name : undefined;
  }

  /** A model call or a subquery writes the variable itself, so that rules see it without a copy in between. */
  #buildLet({ variable: name, variableAt, value }: Of<'let'>): void {
    if (value.kind === 'infer' || value.kind === 'embed' || value.kind === 'rerank') {
      this.#adopt(name, variableAt, buildModelCall(this.#expressions, value, {}));
      return;
    }
    const expression = this.#expressions.build(value);
    if (value.kind === 'subquery' && expression.kind === 'variable') this.#adopt(name, variableAt, expression.id);
    else this.#builder.append({ kind: 'Calculation', variable: this.#builder.declare(name, variableAt), expression });
  }

  #adopt(name: string, at: number, id: VariableId): void {
    if (this.#builder.scopes.find(name) !== undefined) this.#builder.declare(name, at);
    this.#builder.scopes.declare(name, id);
    const variable = this.#builder.variables[id];
    if (variable) variable.name = name;
  }

  #buildSort({ keys }: Of<'sort'>): void {
    const built = keys.map(({ expression, direction }) => ({
      expression: this.#expressions.build(expression),
      ascending: this.#ascending(direction),
    }));
    const varying = built.filter(({ expression }) => expression.kind !== 'literal');
    const sortKeys: SortKey[] = varying.map(({ expression, ascending }) => ({ variable: this.#asVariable(expression), ascending }));
    if (sortKeys.length > 0) this.#builder.append({ kind: 'Sort', keys: sortKeys });
  }

  #ascending(direction: 'ASC' | 'DESC' | Expression): boolean {
    if (typeof direction === 'string') return direction === 'ASC';
    const value = evaluateConstant(this.#expressions.build(direction));
    const word = typeof value === 'string' ? value.toUpperCase() : undefined;
    if (word === 'ASC' || word === 'DESC') return word === 'ASC';
    throw this.#builder.errorAt('AQL_PARSE', direction.at, 'the direction of SORT must be ASC or DESC,');
  }

  #asVariable(expression: PlanExpression): VariableId {
    if (expression.kind === 'variable') return expression.id;
    const variable = this.#builder.newVariable();
    this.#builder.append({ kind: 'Calculation', variable, expression });
    return variable;
  }

  #buildLimit(operation: Of<'limit'>): void {
    const offset = operation.offset ? this.#limitValue(operation.offset) : 0;
    const count = this.#limitValue(operation.count);
    this.#builder.append({ kind: 'Limit', offset: offset ?? 0, count });
  }

  #limitValue(expression: Expression): number | null {
    const value = evaluateConstant(this.#expressions.build(expression));
    if (value === null) return null;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
    throw this.#builder.errorAt('AQL_PARSE', expression.at, 'LIMIT takes constant whole numbers from 0,');
  }
}
