import type { PlanNode } from '../../aql/index.js';
import { blockRowsMax, type Operator, type Row } from '../Block.js';
import { chunked } from '../chunked.js';
import { compareRows } from '../compareRows.js';
import type { SequenceContext } from '../SequenceContext.js';

type Sort = Extract<PlanNode, { readonly kind: 'Sort' }>;

/** Rows kept beyond the limit before the next cut: cutting at every row would sort n times. */
const slackRows = 1000;

/** Sorts stably. With a limit it keeps the first rows only, cutting whenever slack has gathered, so memory stays bounded by the limit. */
export function sortOperator(node: Sort, context: SequenceContext): Operator {
  const order = compareRows(node.keys);
  const limit = node.limit ?? Number.POSITIVE_INFINITY;
  return async function* (input) {
    let kept: { row: Row; bytes: number }[] = [];
    const cut = (): void => {
      kept.sort((left, right) => order(left.row, right.row));
      for (const { bytes } of kept.slice(Math.min(limit, kept.length))) context.memory.release(bytes);
      kept = kept.slice(0, limit);
    };
    for await (const block of input) {
      for (const row of block) kept.push({ row, bytes: context.memory.hold(row) });
      if (kept.length > limit + slackRows) cut();
      await context.pacer.pace();
    }
    cut();
    for (const block of chunked(kept, blockRowsMax)) {
      for (const { bytes } of block) context.memory.release(bytes);
      yield block.map(({ row }) => row);
    }
  };
}
