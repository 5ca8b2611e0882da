import type { z } from 'zod';
import { type CompiledExpression, compileExpression, type PlanExpression } from '../../aql/index.js';
import type { Row } from '../Block.js';
import type { SequenceContext } from '../SequenceContext.js';
import { parseCallOptions } from './parseCallOptions.js';

/** OPTIONS of the calls of one node, row by row; an unknown name is a warning, once. */
export class CallOptions<Schema extends z.ZodObject> {
  readonly #call: string;
  readonly #schema: Schema;
  readonly #context: SequenceContext;
  readonly #compiled: CompiledExpression | undefined;
  readonly #warned = new Set<string>();

  constructor(
    given: { readonly call: string; readonly schema: Schema; readonly expression: PlanExpression | undefined },
    context: SequenceContext,
  ) {
    this.#call = given.call;
    this.#schema = given.schema;
    this.#context = context;
    this.#compiled = given.expression && compileExpression(given.expression);
  }

  /** Error INFER_OPTION_INVALID. */
  of(row: Row): z.infer<Schema> {
    const value = this.#compiled?.(row, this.#context.evaluation) ?? {};
    const { options, unknown } = parseCallOptions(this.#call, this.#schema, value);
    for (const name of unknown) this.#warn(name);
    return options;
  }

  #warn(name: string): void {
    if (this.#warned.has(name)) return;
    this.#warned.add(name);
    this.#context.warnings.add(1578, `unknown option '${name}' of ${this.#call}`);
  }
}
