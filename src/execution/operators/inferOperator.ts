import type { InferNode } from '../../aql/index.js';
import type { Operator, Row } from '../Block.js';
import { InferCalls } from '../inference/InferCalls.js';
import { runInferWindow } from '../inference/runInferWindow.js';
import type { SequenceContext } from '../SequenceContext.js';

/**
 * INFER over windows of rows: up to `batch.max_rows` (256) make one scatter. `rowsWanted`, where a LIMIT stands behind a filter on the
 * answer, makes the first window small and every next one twice as large, so that few rows are asked about in vain.
 */
export function inferOperator(node: InferNode, context: SequenceContext, rowsWanted: number | undefined): Operator {
  const calls = new InferCalls(node, context);
  const answer = (window: readonly Row[]): Promise<void> =>
    context.rounds ? context.rounds.ask(node, window, calls) : runInferWindow(node, window, calls, context);
  return async function* (input) {
    let rowsMax = rowsWanted;
    let window: Row[] = [];
    for await (const block of input)
      for (const row of block) {
        window.push(row);
        const full = Math.min(calls.optionsOf(window[0] as Row).batch.max_rows, rowsMax ?? Number.POSITIVE_INFINITY);
        if (window.length < full) continue;
        await answer(window);
        yield window;
        window = [];
        if (rowsMax !== undefined) rowsMax *= 2;
        await context.pacer.pace();
      }
    if (window.length === 0) return;
    await answer(window);
    yield window;
  };
}
