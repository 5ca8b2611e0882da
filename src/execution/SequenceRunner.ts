import { compileExpression, type PlanNode } from '../aql/index.js';
import { assertNever, baseError, type JsonValue } from '../base/index.js';
import type { Block, Operator, Row } from './Block.js';
import { canonicalKey } from './canonicalKey.js';
import { forkContext } from './forkContext.js';
import type { KeyGenerator } from './KeyGenerator.js';
import { adapterOperator } from './operators/adapterOperator.js';
import { calculationOperator } from './operators/calculationOperator.js';
import { collectOperator } from './operators/collectOperator.js';
import { embedOperator } from './operators/embedOperator.js';
import { embedRowsOperator } from './operators/embedRowsOperator.js';
import { enumerateListOperator } from './operators/enumerateListOperator.js';
import { filterOperator } from './operators/filterOperator.js';
import { inferOperator } from './operators/inferOperator.js';
import { limitOperator } from './operators/limitOperator.js';
import { modificationOperator } from './operators/modificationOperator.js';
import { rerankOperator } from './operators/rerankOperator.js';
import { sortOperator } from './operators/sortOperator.js';
import { subqueryOperator } from './operators/subqueryOperator.js';
import type { SequenceContext } from './SequenceContext.js';
import { sequenceFacts } from './sequenceFacts.js';

/** Where a node runs, and where the nodes before it do, which `stop` ends. */
interface Place {
  readonly context: SequenceContext;
  readonly source: { readonly context: SequenceContext; readonly stop: () => void };
}

/** Runs plan sequences: one operator a node, each pulling from the one before it. */
export class SequenceRunner {
  readonly #context: SequenceContext;
  readonly #keys: KeyGenerator;

  constructor(context: SequenceContext, keys: KeyGenerator) {
    this.#context = context;
    this.#keys = keys;
  }

  /** Rows of a sequence without RETURN: a fragment. `base` is the row that a COLLECT starts its rows from. */
  rows(nodes: readonly PlanNode[], input: AsyncIterable<Block>, base: readonly JsonValue[]): AsyncIterable<Block> {
    const places = this.#placesOf(nodes);
    return nodes.reduce((upstream, _, i) => this.#operator(nodes, i, { base, place: places[i] as Place })(upstream), input);
  }

  /** Values that a sequence returns for one input row; none where it ends in a modification. */
  async *values(nodes: readonly PlanNode[], row: Row): AsyncGenerator<readonly JsonValue[], void, void> {
    const last = nodes.at(-1);
    const base = row.slice();
    if (last?.kind !== 'Return') {
      for await (const _ of this.rows(nodes, single(row), base)) await this.#context.pacer.pace();
      return;
    }
    const value = compileExpression(last.value);
    const distinct = last.distinct ? new Set<string>() : undefined;
    for await (const block of this.rows(nodes.slice(0, -1), single(row), base)) {
      const values: JsonValue[] = [];
      for (const each of block) {
        values.push(value(each, this.#context.evaluation));
        if (this.#context.pacer.isDue) await this.#context.pacer.rest();
      }
      const kept = distinct ? values.filter((each) => this.#isFresh(distinct, each)) : values;
      if (kept.length > 0) yield kept;
      await this.#context.pacer.pace();
    }
  }

  /** What stands before an INFER reads ahead while what stands behind it works: each counts by itself, and the first can be ended alone. */
  #placesOf(nodes: readonly PlanNode[]): readonly Place[] {
    let context = this.#context;
    const places: Place[] = [];
    for (const node of nodes.toReversed()) {
      const source = node.kind === 'Infer' && !context.rounds ? sourceOf(context) : { context, stop: () => undefined };
      places.unshift({ context, source });
      context = source.context;
    }
    return places;
  }

  #isFresh(seen: Set<string>, value: JsonValue): boolean {
    const key = canonicalKey(value);
    if (seen.has(key)) return false;
    this.#context.memory.hold(key);
    seen.add(key);
    return true;
  }

  #operator(
    nodes: readonly PlanNode[],
    index: number,
    { base, place }: { readonly base: readonly JsonValue[]; readonly place: Place },
  ): Operator {
    const { context, source } = place;
    const node = nodes[index] as PlanNode;
    switch (node.kind) {
      case 'Singleton':
        return (input) => input;
      case 'EnumerateCollection':
        return (input) => context.site.scan(node, input, context);
      case 'Gather':
        return (input) => context.site.gather(node, input, { ...context, base });
      case 'EnumerateList':
        return enumerateListOperator(node, context);
      case 'Calculation':
        return calculationOperator(node, context);
      case 'Filter':
        return filterOperator(node, context);
      case 'Sort':
        return sortOperator(node, context);
      case 'Limit':
        return limitOperator(node, { drains: sequenceFacts.writes(nodes.slice(0, index)) });
      case 'Collect':
        return collectOperator(node, context, base);
      case 'Subquery':
        return subqueryOperator(node, context, {
          runValues: (nested, row, own) => new SequenceRunner(own, this.#keys).values(nested, row),
          runsOnce: sequenceFacts.isIndependent(node.nodes),
          runsTogether: sequenceFacts.infers(node.nodes) && !sequenceFacts.writes(node.nodes),
        });
      case 'Insert':
      case 'Update':
      case 'Replace':
      case 'Remove':
        return modificationOperator(node, context, this.#keys);
      case 'Infer':
        return inferOperator(node, context, {
          rowsWanted: sequenceFacts.rowsWanted(nodes, index),
          memory: source.context.memory,
          stop: source.stop,
          base,
        });
      case 'Embed':
        return embedOperator(node, context);
      case 'EmbedRows':
        return embedRowsOperator(node, context);
      case 'Rerank':
        return rerankOperator(node, context);
      case 'Adapter':
        return adapterOperator(node, context);
      case 'Return':
        return (input) => input;
      default:
        return assertNever(node);
    }
  }
}

const sourceOf = (context: SequenceContext): Place['source'] => {
  const stopped = new AbortController();
  const signal = AbortSignal.any([context.signal, stopped.signal]);
  const stop = (): void => stopped.abort(baseError('CANCELLED', 'nobody reads these rows any more'));
  return { context: forkContext(context, { signal, isBeside: true }), stop };
};

async function* single(row: Row): AsyncGenerator<Block, void, void> {
  yield [row];
}
