import { type InferNode, sizeOfValue } from '../../aql/index.js';
import { type JsonValue, OstrakaError, type OstrakaErrorJson, toOstrakaError } from '../../base/index.js';
import type { BatchOutcome, ScatterReport } from '../../cooperation/index.js';
import type { Block, Row } from '../Block.js';
import { executionError } from '../errors.js';
import type { LlmStats } from '../QueryStats.js';
import type { SequenceContext } from '../SequenceContext.js';
import type { InferCall, InferCalls } from './InferCalls.js';
import { toInferResult } from './toInferResult.js';

interface Pending {
  readonly call: InferCall;
  readonly rows: Row[];
}

/**
 * Answers all rows of a window by one scatter (R15, R25): every distinct request once, answers in input order whatever order they come in.
 * Errors: INFER_CALLS_EXCEEDED; under `on_error: "fail"` the first row's error.
 */
export async function runInferWindow(node: InferNode, window: Block, calls: InferCalls, context: SequenceContext): Promise<void> {
  const pending = collectCalls(node, window, calls, context);
  if (pending.length === 0) return;
  const { llm } = context.stats;
  for (const { call } of pending) checkCalls(call, llm.calls + pending.length);
  const entries = pending.map(({ call }, i) => ({ ...call.request, requestId: `${context.queryId}:infer:${llm.calls + i}` }));
  llm.calls += pending.length;
  llm.scatters++;
  const { results, report } = context.models.generateBatch(entries, context.signal);
  const outcomes = new Map<number, BatchOutcome>();
  for await (const { index, outcome } of results) outcomes.set(index, outcome);
  addReport(llm, report);
  for (const [i, entry] of pending.entries()) settle(node, entry, outcomes.get(i), context);
}

/** One entry for every distinct request that has no answer yet; rows with a known answer get it here. */
function collectCalls(node: InferNode, window: Block, calls: InferCalls, context: SequenceContext): readonly Pending[] {
  const pending: Pending[] = [];
  const shared = new Map<string, Pending>();
  for (const row of window) {
    row[node.variable] = null;
    const call = calls.callOf(row);
    if (call === undefined) continue;
    context.stats.llm.rows++;
    const known = call.sharedKey === undefined ? undefined : context.answers.get(call.sharedKey);
    const same = call.sharedKey === undefined ? undefined : shared.get(call.sharedKey);
    if (known !== undefined || same) context.stats.llm.deduped++;
    if (known !== undefined) row[node.variable] = known;
    else if (same) same.rows.push(row);
    else {
      const entry = { call, rows: [row] };
      pending.push(entry);
      if (call.sharedKey !== undefined) shared.set(call.sharedKey, entry);
    }
  }
  return pending;
}

function checkCalls({ options }: InferCall, calls: number): void {
  if (calls <= options.max_calls) return;
  throw executionError('INFER_CALLS_EXCEEDED', `the query needs more than max_calls = ${options.max_calls} model calls`);
}

function addReport(llm: LlmStats, report: ScatterReport): void {
  llm.requests += report.requests;
  llm.retries += report.retries;
  llm.fallbacks += report.fallbacks;
  for (const [shard, requests] of report.perShard) {
    const own = llm.perShard.find((entry) => entry.shard === shard);
    if (own) own.requests += requests;
    else llm.perShard.push({ shard, requests });
  }
}

function settle(node: InferNode, { call, rows }: Pending, outcome: BatchOutcome | undefined, context: SequenceContext): void {
  const { llm } = context.stats;
  if (outcome?.kind === 'answer') {
    llm.promptTokens += outcome.answer.usage.promptTokens;
    llm.completionTokens += outcome.answer.usage.completionTokens;
    llm.cachedTokens += outcome.answer.usage.cachedTokens;
  }
  const formed = inForm(call, outcome);
  const value = formed.kind === 'value' ? formed.value : failed(node, call, formed.error, context);
  if (formed.kind === 'value') remember(call, value, context);
  for (const row of rows) row[node.variable] = value;
}

type Formed = { readonly kind: 'value'; readonly value: JsonValue } | { readonly kind: 'error'; readonly error: OstrakaErrorJson };

/** An answer that is not of the form that was asked for counts as a failed call. */
function inForm({ form }: InferCall, outcome: BatchOutcome | undefined): Formed {
  if (outcome?.kind !== 'answer') return outcome ?? { kind: 'error', error: unanswered };
  try {
    return { kind: 'value', value: toInferResult(outcome.answer, form) };
  } catch (error) {
    return { kind: 'error', error: toOstrakaError(error).toJson() };
  }
}

function remember({ sharedKey }: InferCall, value: JsonValue, context: SequenceContext): void {
  if (sharedKey === undefined || context.answers.size >= context.options.answersRememberedMax) return;
  context.memory.limit.take(sizeOfValue(value, context.memory.limit.limitBytes)); // kept until the query ends
  context.answers.set(sharedKey, value);
}

const unanswered: OstrakaErrorJson = {
  code: 'INTERNAL',
  message: 'a model call was not answered',
  httpStatus: 500,
  errorNum: 8201,
  retryable: true,
  data: {},
};

/** What a row gets for a failed call: nothing and a warning, an entry that describes the error, or the error itself. */
function failed(node: InferNode, call: InferCall, error: OstrakaErrorJson, context: SequenceContext): JsonValue {
  const mode = call.options.on_error ?? (node.wholeQuery ? 'fail' : 'null');
  if (mode === 'fail') throw new OstrakaError(error);
  if (mode === 'entry') return { error: true, code: error.errorNum, name: error.code, message: error.message };
  context.warnings.add(error.errorNum, `INFER gave null: ${error.message} (${error.code})`);
  return null;
}
