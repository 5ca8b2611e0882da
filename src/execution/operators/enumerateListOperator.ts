import { compileExpression, isArray, type PlanNode, rangeBounds } from '../../aql/index.js';
import type { JsonValue } from '../../base/index.js';
import { blockRowsMax, type Operator, type Row } from '../Block.js';
import type { SequenceContext } from '../SequenceContext.js';

type EnumerateList = Extract<PlanNode, { readonly kind: 'EnumerateList' }>;

/** The items of the list in a row; a range is counted, never built. Anything but an array has none. */
const itemsOf = (node: EnumerateList, context: SequenceContext): ((row: Row) => Iterable<JsonValue>) => {
  const { list } = node;
  if (list.kind !== 'range') {
    const compiled = compileExpression(list);
    return (row) => {
      const value = compiled(row, context.evaluation);
      return isArray(value) ? value : [];
    };
  }
  const [from, to] = [compileExpression(list.from), compileExpression(list.to)];
  return function* (row) {
    const bounds = rangeBounds(from(row, context.evaluation), to(row, context.evaluation));
    const step = bounds.from <= bounds.to ? 1 : -1;
    for (let i = 0; i < bounds.count; i++) yield bounds.from + i * step;
  };
};

/** One row for every item of a list. */
export function enumerateListOperator(node: EnumerateList, context: SequenceContext): Operator {
  const items = itemsOf(node, context);
  // Every row is a copy: in a chain of lists each step keeps a block of ever wider rows while those after it work.
  const pass = async function* (rows: Row[]): AsyncGenerator<Row[], void, void> {
    const bytes = rows.length * (rows[0]?.length ?? 0) * 8;
    context.memory.holdBytes(bytes);
    await context.pacer.rest();
    yield rows;
    context.memory.release(bytes);
  };
  return async function* (input) {
    for await (const block of input) {
      let rows: Row[] = [];
      for (const row of block)
        for (const item of items(row)) {
          const next = row.slice();
          next[node.variable] = item;
          rows.push(next);
          if (rows.length < blockRowsMax) continue;
          yield* pass(rows);
          rows = [];
          await context.pacer.pace();
        }
      if (rows.length > 0) yield* pass(rows);
    }
  };
}
