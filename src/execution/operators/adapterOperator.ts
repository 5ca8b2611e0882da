import { z } from 'zod';
import { type AdapterNode, compileExpression } from '../../aql/index.js';
import { assert, assertNever, type JsonValue } from '../../base/index.js';
import type { Operator, Row } from '../Block.js';
import { executionError } from '../errors.js';
import type { AdapterAccess, SequenceContext } from '../SequenceContext.js';

const text = z.string().min(1);
const name = text.max(128);
const path = text.max(4_096).refine((value) => !value.includes('\0'), 'must not hold a zero byte');
const options = z.strictObject({
  scale: z.number().min(0).max(100).default(1),
  accuracy_delta: z.number().min(-1).max(1).exactOptional(),
});

/** Runs `LLM ADAPTER …` once; a row for every adapter it tells of. */
export function adapterOperator(node: AdapterNode, context: SequenceContext): Operator {
  const { adapters } = context;
  assert(adapters !== undefined, 'statements run on the coordinator');
  return async function* (input) {
    for await (const block of input)
      for (const row of block) {
        const answers = await answerOf(node, { row, context, adapters });
        if (answers.length > 0) yield answers.map((answer) => withValue(row, node.variable, answer));
      }
  };
}

const withValue = (row: Row, variable: number, value: JsonValue): Row => {
  const next = row.slice();
  next[variable] = value;
  return next;
};

type Run = { readonly row: Row; readonly context: SequenceContext; readonly adapters: AdapterAccess };

async function answerOf(node: AdapterNode, { row, context, adapters }: Run): Promise<readonly JsonValue[]> {
  const part = <Value>(what: 'subject' | 'domain' | 'shard' | 'options', schema: z.ZodType<Value>): Value => {
    const expression = node[what];
    return checked(what, schema, expression && compileExpression(expression)(row, context.evaluation));
  };
  const shard = node.shard && part('shard', name);
  switch (node.action) {
    case 'list':
      return adapters.list().map((one) => ({ ...one }));
    case 'load': {
      const { scale, accuracy_delta: accuracyDelta } = part('options', options.prefault({}));
      const figures = accuracyDelta !== undefined && { accuracyDelta };
      const adapter = { path: part('subject', path), domain: part('domain', name), scale, ...figures };
      return [{ ...(await adapters.load(adapter, shard, context.signal)) }];
    }
    case 'unload':
      return [{ ...(await adapters.unload(part('subject', name), shard, context.signal)), unloaded: true }];
    default:
      return assertNever(node.action);
  }
}

function checked<Value>(what: string, schema: z.ZodType<Value>, value: JsonValue | undefined): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = [what === 'subject' ? 'the path or name' : what.toUpperCase(), ...(issue?.path ?? [])].join('.');
  throw executionError('ADAPTER_STATEMENT_INVALID', `${place} of LLM ADAPTER: ${issue?.message}`, { data: { part: what } });
}
