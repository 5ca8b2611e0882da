import type { EmbedRowsNode } from '../../aql/index.js';
import { assert, type JsonValue } from '../../base/index.js';
import type { Operator } from '../Block.js';
import type { ShardOutcome } from '../embedding/EmbedScatter.js';
import { countEmbedded } from '../QueryStats.js';
import type { SequenceContext } from '../SequenceContext.js';

/** Runs `LLM EMBED … FOR` once; a row for every shard. */
export function embedRowsOperator(node: EmbedRowsNode, context: SequenceContext): Operator {
  const { embedRows } = context;
  assert(embedRows !== undefined, 'statements run on the coordinator');
  return async function* (input) {
    for await (const block of input)
      for (const row of block) {
        const outcomes = await embedRows.run(node, context.signal);
        for (const outcome of outcomes) count(outcome, context);
        yield outcomes.map((outcome) => {
          const next = row.slice();
          next[node.variable] = rowOf(outcome);
          return next;
        });
      }
  };
}

function rowOf({ shard, job, outcome }: ShardOutcome): JsonValue {
  if (outcome === undefined) return { shard, job, state: 'running' };
  const { rows, embedded, again, current, cleared, empty, failed, failures, changing } = outcome;
  const failed_rows = failures.map(({ key, code }) => ({ _key: key, code }));
  return { shard, job, state: 'done', rows, embedded, again, current, cleared, empty, failed, failed_rows, changing };
}

function count({ shard, outcome }: ShardOutcome, { stats, warnings }: SequenceContext): void {
  stats.httpRequests++;
  if (outcome === undefined) return;
  const { embed } = stats;
  embed.texts += outcome.texts;
  embed.requests += outcome.requests;
  embed.promptTokens += outcome.promptTokens;
  stats.writesExecuted += outcome.embedded + outcome.cleared;
  if (outcome.texts > 0) countEmbedded(embed, shard, outcome.texts);
  const [first] = outcome.failures;
  if (first !== undefined) warnings.add(8102, `${outcome.failed} rows of ${shard} have no vector; one is ${first.key}: ${first.code}`);
  if (outcome.cut > 0) warnings.add(8102, `EMBED cut ${outcome.cut} texts of ${shard} that are longer than the model reads`);
  if (outcome.changing > 0)
    warnings.add(8202, `${outcome.changing} rows of ${shard} were written again and again: send the statement once more`);
}
