import type { PlanNode } from '../../aql/index.js';
import type { Operator } from '../Block.js';

type Limit = Extract<PlanNode, { readonly kind: 'Limit' }>;

/**
 * Skips `offset` rows and passes `count`. It stops pulling when it has them, unless what stands before it writes: all of a statement's
 * changes are made whatever is returned of them.
 */
export function limitOperator(node: Limit, options: { readonly drains: boolean }): Operator {
  return async function* (input) {
    let skip = node.offset;
    let left = node.count ?? Number.POSITIVE_INFINITY;
    if (left === 0 && !options.drains) return;
    for await (const block of input) {
      const passed = block.slice(skip, skip + left);
      skip -= Math.min(skip, block.length);
      left -= passed.length;
      if (passed.length > 0) yield passed;
      if (left === 0 && !options.drains) return;
    }
  };
}
