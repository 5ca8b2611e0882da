import type { PlanNode } from '../../aql/index.js';
import { type JsonValue, OstrakaError } from '../../base/index.js';
import type { Operator, Row } from '../Block.js';
import { chunked } from '../chunked.js';
import { forkContext } from '../forkContext.js';
import { InferRounds, type RoundRun, type Rounds } from '../inference/InferRounds.js';
import type { SequenceContext } from '../SequenceContext.js';
import { guardsHold } from './guardsHold.js';

type Subquery = Extract<PlanNode, { readonly kind: 'Subquery' }>;

/** Runs a sequence to its RETURN for one row of the surrounding query, in a context of its own. */
export type RunValues = (nodes: readonly PlanNode[], row: Row, context: SequenceContext) => AsyncIterable<readonly JsonValue[]>;

/**
 * Sets the array of a subquery's results in every row. One that reads nothing of the row and changes nothing runs once; one that calls
 * models runs for `subqueryRowsMax` rows together, so that their calls go out in one scatter, or for fewer where memory is short.
 */
export function subqueryOperator(
  node: Subquery,
  context: SequenceContext,
  parts: { readonly runValues: RunValues; readonly runsOnce: boolean; readonly runsTogether: boolean },
): Operator {
  let heldBytes = 0;
  const run = async (row: Row, fork: { readonly isBeside: boolean; readonly rounds?: Rounds | undefined }): Promise<JsonValue[]> => {
    const own = forkContext(context, fork);
    const results: JsonValue[] = [];
    let bytes = 0;
    try {
      for await (const values of parts.runValues(node.nodes, row.slice(), own)) {
        bytes += own.memory.hold(values);
        results.push(...values);
        await own.pacer.pace();
      }
    } finally {
      own.memory.close();
    }
    heldBytes += bytes;
    context.memory.holdBytes(bytes);
    return results;
  };
  const runTogether = async (rows: readonly Row[]): Promise<void> => {
    const rounds = context.rounds ?? new InferRounds();
    const fill = async (row: Row, own: Rounds): Promise<void> => {
      row[node.variable] = await run(row, { isBeside: true, rounds: own });
    };
    for (const some of chunked(rows, context.options.subqueryRowsMax)) {
      const runs = some.map((row) => repeatable(rounds, (own) => fill(row, own)));
      await rounds.run(runs, () => context.memory.hasRoom);
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
          const results: JsonValue[] = known ?? (await run(row, { isBeside: false }));
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

/** A run that has asked no model and writes nothing can be run again; one that has asked is not asked again for want of memory. */
const repeatable =
  (rounds: Rounds, work: (own: Rounds) => Promise<void>): RoundRun =>
  async () => {
    let hasAsked = false;
    const ask: Rounds['ask'] = (request) => {
      hasAsked = true;
      return rounds.ask(request);
    };
    try {
      await work({ ask, run: (runs, hasRoom) => rounds.run(runs, hasRoom) });
      return undefined;
    } catch (error) {
      const isShort = error instanceof OstrakaError && error.code === 'QUERY_MEMORY_LIMIT';
      if (hasAsked || !isShort) throw error;
      return { memoryError: error };
    }
  };
