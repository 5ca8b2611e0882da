import { compileExpression, type PlanNode } from '../aql/index.js';
import { assertNever, type JsonValue } from '../base/index.js';
import type { Block, Operator, Row } from './Block.js';
import { canonicalKey } from './canonicalKey.js';
import type { InferRounds } from './inference/InferRounds.js';
import type { KeyGenerator } from './KeyGenerator.js';
import { calculationOperator } from './operators/calculationOperator.js';
import { collectOperator } from './operators/collectOperator.js';
import { embedOperator } from './operators/embedOperator.js';
import { enumerateListOperator } from './operators/enumerateListOperator.js';
import { filterOperator } from './operators/filterOperator.js';
import { inferOperator } from './operators/inferOperator.js';
import { limitOperator } from './operators/limitOperator.js';
import { modificationOperator } from './operators/modificationOperator.js';
import { sortOperator } from './operators/sortOperator.js';
import { subqueryOperator } from './operators/subqueryOperator.js';
import type { SequenceContext } from './SequenceContext.js';
import { sequenceFacts } from './sequenceFacts.js';

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
    return nodes.reduce((upstream, _, i) => this.#operator(nodes, i, base)(upstream), input);
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

  #within(rounds: InferRounds | undefined): SequenceRunner {
    return rounds === this.#context.rounds ? this : new SequenceRunner({ ...this.#context, ...(rounds && { rounds }) }, this.#keys);
  }

  #isFresh(seen: Set<string>, value: JsonValue): boolean {
    const key = canonicalKey(value);
    if (seen.has(key)) return false;
    this.#context.memory.hold(key);
    seen.add(key);
    return true;
  }

  #operator(nodes: readonly PlanNode[], index: number, base: readonly JsonValue[]): Operator {
    const context = this.#context;
    const node = nodes[index] as PlanNode;
    switch (node.kind) {
      case 'Singleton':
        return (input) => input;
      case 'EnumerateCollection':
        return (input) => context.site.scan(node, input);
      case 'Gather':
        return (input) => context.site.gather(node, input, base);
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
          runValues: (nested, row, rounds) => this.#within(rounds).values(nested, row),
          runsOnce: sequenceFacts.isIndependent(node.nodes),
          runsTogether: sequenceFacts.infers(node.nodes) && !sequenceFacts.writes(node.nodes),
        });
      case 'Insert':
      case 'Update':
      case 'Replace':
      case 'Remove':
        return modificationOperator(node, context, this.#keys);
      case 'Infer':
        return inferOperator(node, context, sequenceFacts.rowsWanted(nodes, index));
      case 'Embed':
        return embedOperator(node, context);
      case 'Return':
        return (input) => input;
      default:
        return assertNever(node);
    }
  }
}

async function* single(row: Row): AsyncGenerator<Block, void, void> {
  yield [row];
}
