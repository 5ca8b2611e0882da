import type { Constraint } from '../../platform/index.js';
import type { ToolCallConstraint } from './ToolCallConstraint.js';

/** What a grammar is made of: the constraint of a request, or its tools with or without one. */
export type GrammarSource = Constraint | ToolCallConstraint;
