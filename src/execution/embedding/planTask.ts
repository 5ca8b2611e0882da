import { type EmbedRowsNode, planQuery } from '../../aql/index.js';
import { assert, type JsonValue } from '../../base/index.js';
import { executionError } from '../errors.js';
import type { EmbedTask } from './EmbedTask.js';
import { type EmbedRowsOptions, embedRowsOptions } from './embedRowsOptions.js';

export interface PlannedTask {
  readonly node: EmbedRowsNode;
  readonly options: EmbedRowsOptions;
}

/** What a task asks for. Errors: those of `planQuery`, EMBED_STATEMENT_INVALID. */
export function planTask({ query, bindVars }: Pick<EmbedTask, 'query' | 'bindVars'>): PlannedTask {
  const plan = planQuery({ text: query, bindVars });
  const node = plan.nodes.find((one): one is EmbedRowsNode => one.kind === 'EmbedRows');
  assert(node !== undefined, 'a task is a statement that embeds rows');
  return { node, options: checkedOptions(node.options) };
}

/** Error EMBED_STATEMENT_INVALID. */
export function checkedOptions(given: JsonValue): EmbedRowsOptions {
  const parsed = embedRowsOptions.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = ['OPTIONS', ...(issue?.path ?? [])].join('.');
  throw executionError('EMBED_STATEMENT_INVALID', `${place} of LLM EMBED … FOR: ${issue?.message}`);
}
