import { z } from 'zod';
import { attributeOf, type CompiledExpression, compileExpression, isArray, type RerankNode, toText } from '../../aql/index.js';
import { isObject, type JsonValue } from '../../base/index.js';
import type { Operator, Row } from '../Block.js';
import { chunked } from '../chunked.js';
import { executionError } from '../errors.js';
import { CallOptions } from '../inference/CallOptions.js';
import { countEmbedded } from '../QueryStats.js';
import type { SequenceContext } from '../SequenceContext.js';
import { guardsHold } from './guardsHold.js';
import { warnOfCut } from './warnOfCut.js';

const schema = z.object({
  top_n: z.int().min(1).optional(),
  key: z.string().optional(),
  method: z.enum(['cross-encoder', 'embedding']).default('cross-encoder'),
  truncate: z.boolean().default(false),
});
type Options = z.infer<typeof schema>;

interface Ranking {
  readonly query: string;
  readonly items: readonly JsonValue[];
  readonly top: number | undefined;
  readonly options: Options;
}

/**
 * RERANK of a list by how well its items fit a query (R14): `{index, score, item}`, the best first, equals in the order of the list. Lists of
 * `rerankRowsMax` rows are scored side by side on the engine of this shard, so that short ones share its passes. A null query or list
 * gives null. Errors: RERANK_INPUT_INVALID, INFER_OPTION_INVALID, those of the model.
 */
export function rerankOperator(node: RerankNode, context: SequenceContext): Operator {
  const [query, list] = [compileExpression(node.query), compileExpression(node.list)];
  const top = node.top && compileExpression(node.top);
  const options = new CallOptions({ call: 'RERANK', schema, expression: node.options }, context);
  const rankingOf = (row: Row): Ranking | undefined => {
    if (!guardsHold(node.guards, row)) return undefined;
    const [asked, items] = [query(row, context.evaluation), list(row, context.evaluation)];
    if (asked === null || items === null) return undefined;
    if (!isArray(items)) throw executionError('RERANK_INPUT_INVALID', 'RERANK OVER takes an array');
    const own = options.of(row);
    return { query: toText(asked), items, top: topOf(top, row, { options: own, context }), options: own };
  };
  const rank = async (row: Row): Promise<void> => {
    const ranking = rankingOf(row);
    row[node.variable] = ranking === undefined ? null : await ranked(node, ranking, context);
  };
  return async function* (input) {
    for await (const block of input) {
      for (const rows of chunked(block, context.options.rerankRowsMax)) await allOf(rows.map(rank));
      await context.pacer.pace();
      yield block;
    }
  };
}

/** Ends when all have ended, also where one fails: nothing runs on behind an error. */
const allOf = async (runs: readonly Promise<void>[]): Promise<void> => {
  const failed = (await Promise.allSettled(runs)).find((run) => run.status === 'rejected');
  if (failed) throw failed.reason;
};

const topOf = (
  compiled: CompiledExpression | undefined,
  row: Row,
  { options, context }: { readonly options: Options; readonly context: SequenceContext },
): number | undefined => {
  if (compiled === undefined) return options.top_n;
  const invalid = (message: string) => executionError('INFER_OPTION_INVALID', message, { data: { option: 'top_n' } });
  if (options.top_n !== undefined) throw invalid('TOP and OPTIONS {top_n} of RERANK exclude each other');
  const top = compiled(row, context.evaluation);
  if (typeof top === 'number' && Number.isInteger(top) && top >= 1) return top;
  throw invalid('TOP of RERANK must be a whole number from 1');
};

async function ranked(node: RerankNode, { query, items, top, options }: Ranking, context: SequenceContext): Promise<JsonValue> {
  const documents = items.map((item, index) => textOf(item, index, options.key));
  const scored: { readonly index: number; readonly score: number }[] = [];
  for (const batch of chunked(documents, context.options.embedTextsMax)) {
    const scores = await scoresOf(node, { query, batch, options }, context);
    for (const score of scores) scored.push({ index: scored.length, score });
  }
  scored.sort((left, right) => right.score - left.score || left.index - right.index);
  return scored.slice(0, top ?? scored.length).map(({ index, score }) => ({ index, score, item: items[index] ?? null }));
}

async function scoresOf(
  node: RerankNode,
  { query, batch, options }: { readonly query: string; readonly batch: readonly string[]; readonly options: Options },
  context: SequenceContext,
): Promise<readonly number[]> {
  const { embed } = context.stats;
  const requestId = `${context.queryId}:rerank:${embed.requests++}`;
  const method = options.method === 'embedding' ? 'embedding' : 'crossEncoder';
  const request = { requestId, model: node.model, query, documents: batch, method, truncate: options.truncate } as const;
  const { scores, promptTokens, tokensLeftOut } = await context.models.rerank(request, context.signal);
  embed.texts += batch.length;
  embed.promptTokens += promptTokens;
  countEmbedded(embed, context.shardId, batch.length);
  warnOfCut('RERANK', tokensLeftOut, context);
  return scores;
}

/** As CONTEXT reads passages: a text, the `text` of an object, else the JSON of the item. */
const textOf = (item: JsonValue, index: number, key: string | undefined): string => {
  const text = key !== undefined ? attributeOf(item, key) : isObject(item) ? (attributeOf(item, 'text') ?? item) : item;
  if (text !== null) return toText(text);
  const what = item === null || key === undefined ? 'is null' : `has no attribute '${key}'`;
  throw executionError('RERANK_INPUT_INVALID', `item ${index} of the list of RERANK ${what}`, { data: { index } });
};
