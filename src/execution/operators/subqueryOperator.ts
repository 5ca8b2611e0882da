import type { PlanNode } from '../../aql/index.js';
import type { JsonValue } from '../../base/index.js';
import type { Operator, Row } from '../Block.js';
import { chunked } from '../chunked.js';
import { InferRounds } from '../inference/InferRounds.js';
import type { SequenceContext } from '../SequenceContext.js';
import { guardsHold } from './guardsHold.js';

type Subquery = Extract<PlanNode, { readonly kind: 'Subquery' }>;

/** Runs a sequence to its RETURN for one row of the surrounding query; `rounds` is where its model calls meet those of other rows. */
export type RunValues = (nodes: readonly PlanNode[], row: Row, rounds: InferRounds | undefined) => AsyncIterable<readonly JsonValue[]>;

/**
 * Sets the array of a subquery's results in every row. One that reads nothing of the row and changes nothing runs once; one that calls
 * models runs for `subqueryRowsMax` rows side by side, so that their calls go out in one scatter.
 */
export function subqueryOperator(
  node: Subquery,
  context: SequenceContext,
  parts: { readonly runValues: RunValues; readonly runsOnce: boolean; readonly runsTogether: boolean },
): Operator {
  let heldBytes = 0;
  const run = async (row: Row, rounds: InferRounds | undefined): Promise<JsonValue[]> => {
    const results: JsonValue[] = [];
    for await (const values of parts.runValues(node.nodes, row.slice(), rounds)) {
      heldBytes += context.memory.hold(values);
      results.push(...values);
      await context.pacer.pace();
    }
    return results;
  };
  const runTogether = async (rows: readonly Row[]): Promise<void> => {
    const rounds = context.rounds ?? new InferRounds();
    const fill = async (row: Row): Promise<void> => {
      row[node.variable] = await run(row, rounds);
    };
    for (const some of chunked(rows, context.options.subqueryRowsMax)) {
      const runs = some.map((row) => () => fill(row));
      await rounds.run(runs, context.rounds !== undefined);
    }
  };
  return async function* (input) {
    let known: JsonValue[] | undefined;
    for await (const block of input) {
      const wanted = block.filter((row) => guardsHold(node.guards, row));
      for (const row of block) row[node.variable] = null;
      if (parts.runsTogether) await runTogether(wanted);
      else
        for (const row of wanted) {
          const results: JsonValue[] = known ?? (await run(row, context.rounds));
          if (parts.runsOnce) known = results;
          row[node.variable] = results;
        }
      yield block;
      // What keeps the rows beyond this point accounts for them itself; the one shared result stays.
      if (!parts.runsOnce) {
        context.memory.release(heldBytes);
        heldBytes = 0;
      }
    }
  };
}
