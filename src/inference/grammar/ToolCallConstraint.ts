import type { Constraint, ToolDefinition } from '../../platform/index.js';

/** An answer of text, calls of tools, or text and then calls. */
export interface ToolCallConstraint {
  readonly kind: 'toolCalls';
  /** Those that may be called; none: no call begins. */
  readonly tools: readonly Pick<ToolDefinition, 'name' | 'parameters' | 'strict'>[];
  readonly callsMax: number;
  /** `none`: calls alone; `free`: any text before them; a constraint: instead of them. */
  readonly text: 'none' | 'free' | Constraint;
}
