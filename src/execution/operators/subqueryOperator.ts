import type { PlanNode } from '../../aql/index.js';
import type { JsonValue } from '../../base/index.js';
import type { Operator, Row } from '../Block.js';
import type { SequenceContext } from '../SequenceContext.js';
import { guardsHold } from './guardsHold.js';

type Subquery = Extract<PlanNode, { readonly kind: 'Subquery' }>;

/** Runs a sequence to its RETURN for one row of the surrounding query. */
export type RunValues = (nodes: readonly PlanNode[], row: Row) => AsyncIterable<readonly JsonValue[]>;

/** Sets the array of a subquery's results in every row. One that reads nothing of the row and changes nothing runs once. */
export function subqueryOperator(
  node: Subquery,
  context: SequenceContext,
  parts: { readonly runValues: RunValues; readonly runsOnce: boolean },
): Operator {
  let heldBytes = 0;
  const run = async (row: Row): Promise<JsonValue[]> => {
    const results: JsonValue[] = [];
    for await (const values of parts.runValues(node.nodes, row.slice())) {
      heldBytes += context.memory.hold(values);
      results.push(...values);
      await context.pacer.pace();
    }
    return results;
  };
  return async function* (input) {
    let known: JsonValue[] | undefined;
    for await (const block of input) {
      for (const row of block) {
        if (!guardsHold(node.guards, row)) row[node.variable] = null;
        else {
          const results: JsonValue[] = known ?? (await run(row));
          if (parts.runsOnce) known = results;
          row[node.variable] = results;
        }
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
