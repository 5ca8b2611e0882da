import { type CollectNode, type CompiledExpression, compileExpression, functionTable, type OpenObject, setOwn } from '../../aql/index.js';
import { compareValues, type JsonValue } from '../../base/index.js';
import { type Block, blockRowsMax, type Operator, type Row } from '../Block.js';
import { canonicalKey } from '../canonicalKey.js';
import { chunked } from '../chunked.js';
import type { SequenceContext } from '../SequenceContext.js';

interface Group {
  readonly key: readonly JsonValue[];
  count: number;
  /** Per aggregate: its argument in every row of the group; empty for counts. */
  readonly values: JsonValue[][];
  readonly members: JsonValue[];
}

const countFunctions = new Set(['COUNT', 'LENGTH']);
const listFunctions = new Set(['PUSH', 'UNIQUE', 'SORTED_UNIQUE', 'COUNT_DISTINCT', 'COUNT_UNIQUE']);

/**
 * COLLECT: rows grouped by the values of its expressions, in ascending order of those; without groups exactly one row, also for no
 * input. What stands behind it sees only its own variables and those of the surrounding query (`base`).
 */
export function collectOperator(node: CollectNode, context: SequenceContext, base: readonly JsonValue[]): Operator {
  const grouping = new Grouping(node, context);
  return async function* (input) {
    for await (const block of input) {
      grouping.add(block);
      await context.pacer.pace();
    }
    for (const groups of chunked(grouping.sorted(), blockRowsMax)) yield groups.map((group) => grouping.rowOf(group, base));
    context.memory.release(grouping.heldBytes);
  };
}

/** Of a group beside its key and values: its place in the map and its empty lists. */
const groupBytes = 256;

class Grouping {
  readonly #node: CollectNode;
  readonly #context: SequenceContext;
  readonly #groups = new Map<string, Group>();
  readonly #keys: readonly CompiledExpression[];
  readonly #arguments: readonly (CompiledExpression | undefined)[];
  readonly #member: ((row: Row) => JsonValue) | undefined;
  heldBytes = 0;

  constructor(node: CollectNode, context: SequenceContext) {
    this.#node = node;
    this.#context = context;
    this.#keys = node.groups.map(({ expression }) => compileExpression(expression));
    this.#arguments = node.aggregates.map(({ function: name, argument }) =>
      argument && !countFunctions.has(name) ? compileExpression(argument) : undefined,
    );
    this.#member = node.into && memberOf(node.into, context);
    if (this.#keys.length === 0) this.#groupOf([]);
  }

  add(block: Block): void {
    const { evaluation, memory } = this.#context;
    for (const row of block) {
      const group = this.#groupOf(this.#keys.map((key) => key(row, evaluation)));
      group.count++;
      for (const [i, argument] of this.#arguments.entries()) {
        if (!argument) continue;
        const value = argument(row, evaluation);
        this.heldBytes += memory.hold(value);
        group.values[i]?.push(value);
      }
      if (!this.#member) continue;
      const member = this.#member(row);
      this.heldBytes += memory.hold(member);
      group.members.push(member);
    }
  }

  sorted(): Group[] {
    return [...this.#groups.values()].sort((left, right) => compareValues(left.key, right.key));
  }

  rowOf(group: Group, base: readonly JsonValue[]): Row {
    const row = base.slice();
    for (const [i, { variable }] of this.#node.groups.entries()) row[variable] = group.key[i] ?? null;
    for (const [i, aggregate] of this.#node.aggregates.entries()) row[aggregate.variable] = this.#aggregate(aggregate.function, group, i);
    if (this.#node.into) row[this.#node.into.variable] = group.members;
    if (this.#node.count !== undefined) row[this.#node.count] = group.count;
    return row;
  }

  #groupOf(key: readonly JsonValue[]): Group {
    const name = canonicalKey(key);
    let group = this.#groups.get(name);
    if (group) return group;
    group = { key, count: 0, values: this.#arguments.map(() => []), members: [] };
    const { memory } = this.#context;
    const ownBytes = groupBytes + 2 * name.length;
    memory.holdBytes(ownBytes);
    this.heldBytes += ownBytes + memory.hold(key);
    this.#groups.set(name, group);
    return group;
  }

  /** An aggregate over no value is null, except counts and lists. */
  #aggregate(name: string, group: Group, index: number): JsonValue {
    if (countFunctions.has(name)) return group.count;
    const values = group.values[index] ?? [];
    if (name === 'PUSH') return values;
    if (values.length === 0 && !listFunctions.has(name)) return null;
    return functionTable.get(name)?.evaluate([values], this.#context.evaluation) ?? null;
  }
}

const memberOf = (into: NonNullable<CollectNode['into']>, context: SequenceContext): ((row: Row) => JsonValue) => {
  if (into.projection) {
    const projection = compileExpression(into.projection);
    return (row) => projection(row, context.evaluation);
  }
  return (row) => {
    const member: OpenObject = {};
    for (const { name, variable } of into.keep) setOwn(member, name, row[variable] ?? null);
    return member;
  };
};
