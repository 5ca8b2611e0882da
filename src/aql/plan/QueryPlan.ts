import type { PlanNode } from './PlanNode.js';

/** Something that was ignored; `code` is ArangoDB's number. */
export interface PlanWarning {
  readonly code: number;
  readonly message: string;
}

/** A planned query: plain JSON, bind parameters inside. */
export interface QueryPlan {
  /** The coordinator's sequence; fragments stand inside Gather nodes, subqueries inside Subquery nodes. */
  readonly nodes: readonly PlanNode[];
  /** By id. `name` is the query's, or `#<id>` for intermediate results. */
  readonly variables: readonly { readonly id: number; readonly name: string }[];
  /** Every collection once; `write` where the query writes it. */
  readonly collections: readonly { readonly name: string; readonly access: 'read' | 'write' }[];
  /** Rules that changed the plan, in order. */
  readonly rulesApplied: readonly string[];
  readonly rulesSkipped: readonly string[];
  readonly warnings: readonly PlanWarning[];
}
