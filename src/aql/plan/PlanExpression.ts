import type { JsonValue } from '../../base/index.js';
import type { BinaryOperator } from '../syntax/Ast.js';

/** A variable's number in its plan; also the register that holds it in every row. */
export type VariableId = number;

/**
 * An expression of a plan: names are resolved, bind parameters substituted, model calls and subqueries lifted out into nodes. Plain
 * JSON, since a fragment crosses the wire.
 */
export type PlanExpression =
  | { readonly kind: 'literal'; readonly value: JsonValue }
  | { readonly kind: 'variable'; readonly id: VariableId }
  /** What an expansion is at: `slot` of the scratch space. */
  | { readonly kind: 'element'; readonly slot: number }
  | { readonly kind: 'attribute'; readonly source: PlanExpression; readonly name: string }
  | { readonly kind: 'index'; readonly source: PlanExpression; readonly index: PlanExpression }
  | {
      readonly kind: 'expansion';
      readonly source: PlanExpression;
      readonly levels: number;
      /** Scratch slot of CURRENT, and of what the tail applies to. */
      readonly currentSlot: number;
      readonly tailSlot: number;
      readonly filter?: PlanExpression;
      readonly offset?: PlanExpression;
      readonly count?: PlanExpression;
      readonly projection?: PlanExpression;
      readonly tail: PlanExpression;
    }
  | { readonly kind: 'unary'; readonly operator: '!' | '+' | '-'; readonly operand: PlanExpression }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: PlanExpression;
      readonly right: PlanExpression;
      readonly quantifier?: 'all' | 'any' | 'none';
    }
  | { readonly kind: 'ternary'; readonly condition: PlanExpression; readonly whenTrue?: PlanExpression; readonly whenFalse: PlanExpression }
  | { readonly kind: 'range'; readonly from: PlanExpression; readonly to: PlanExpression }
  | { readonly kind: 'array'; readonly items: readonly PlanExpression[] }
  | { readonly kind: 'object'; readonly entries: readonly { readonly key: PlanExpression; readonly value: PlanExpression }[] }
  | { readonly kind: 'call'; readonly name: string; readonly arguments: readonly PlanExpression[] };
