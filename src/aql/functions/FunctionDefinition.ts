import type { JsonValue } from '../../base/index.js';
import type { EvaluationContext } from '../evaluation/EvaluationContext.js';

export type Arguments = readonly JsonValue[];

/** One function of AQL. Missing optional arguments are absent from `evaluate`'s list, not null. */
export interface FunctionDefinition {
  readonly argumentsMin: number;
  readonly argumentsMax: number;
  /** False: the result may differ for equal arguments, so the call is neither folded nor moved. */
  readonly deterministic: boolean;
  /** True where it may walk its arguments to their leaves: their nodes are then counted first. */
  readonly walks: boolean;
  evaluate(values: Arguments, context: EvaluationContext): JsonValue;
}

export type FunctionTable = { readonly [name: string]: FunctionDefinition };

/** A deterministic function. */
export function pure(min: number, max: number, evaluate: FunctionDefinition['evaluate']): FunctionDefinition {
  return { argumentsMin: min, argumentsMax: max, deterministic: true, walks: true, evaluate };
}

/** A deterministic function that looks at its arguments' own elements at most, never at what these hold. */
export function shallow(min: number, max: number, evaluate: FunctionDefinition['evaluate']): FunctionDefinition {
  return { argumentsMin: min, argumentsMax: max, deterministic: true, walks: false, evaluate };
}

/** The value of optional argument `index`, or `otherwise`. */
export function argumentOr<Value extends JsonValue>(values: Arguments, index: number, otherwise: Value): JsonValue {
  return index < values.length ? (values[index] as JsonValue) : otherwise;
}

/** Warning 1542 and null: what a function answers to an argument of a wrong type. */
export function wrongType(context: EvaluationContext, name: string): null {
  context.warn(1542, `invalid argument type in call to function '${name}()'`);
  return null;
}
