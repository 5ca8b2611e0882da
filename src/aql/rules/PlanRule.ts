import type { PlanNode } from '../plan/PlanNode.js';

/** A rewriting of one sequence that keeps its results; returns the same array where it changes nothing. */
export interface PlanRule {
  readonly name: string;
  apply(nodes: readonly PlanNode[]): readonly PlanNode[];
}
