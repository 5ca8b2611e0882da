import type { InferNode } from '../../aql/index.js';
import { ahead } from '../ahead.js';
import type { Block, Operator, Row } from '../Block.js';
import { InferCalls } from '../inference/InferCalls.js';
import { runInferWindow } from '../inference/runInferWindow.js';
import type { SequenceContext } from '../SequenceContext.js';

/**
 * INFER over windows of rows: up to `batch.max_rows` (256) make one scatter, and the next window is read while the models answer.
 * `rowsWanted`, where a LIMIT stands behind a filter on the answer, makes the first window small and every next one twice as large, so
 * that few rows are asked about in vain; then, and where windows of other rows are waited for, nothing is read ahead.
 */
export function inferOperator(node: InferNode, context: SequenceContext, rowsWanted: number | undefined): Operator {
  const calls = new InferCalls(node, context);
  const { rounds } = context;
  const readsAhead = rowsWanted === undefined && rounds === undefined;
  const answer = (rows: readonly Row[]): Promise<void> => runInferWindow(node, rows, calls, context);
  const rowsMaxOf = (window: readonly Row[]): number => calls.optionsOf(window[0] as Row).batch.max_rows;
  return async function* (input) {
    const windows = windowsOf(input, calls, rowsWanted);
    for await (const window of readsAhead ? ahead(windows) : windows) {
      await (rounds ? rounds.ask({ node, window, rowsMax: rowsMaxOf(window), answer }) : answer(window));
      yield window;
      await context.pacer.pace();
    }
  };
}

async function* windowsOf(
  input: AsyncIterable<Block>,
  calls: InferCalls,
  rowsWanted: number | undefined,
): AsyncGenerator<Row[], void, void> {
  let rowsMax = rowsWanted;
  let window: Row[] = [];
  for await (const block of input)
    for (const row of block) {
      window.push(row);
      const full = Math.min(calls.optionsOf(window[0] as Row).batch.max_rows, rowsMax ?? Number.POSITIVE_INFINITY);
      if (window.length < full) continue;
      yield window;
      window = [];
      if (rowsMax !== undefined) rowsMax *= 2;
    }
  if (window.length > 0) yield window;
}
