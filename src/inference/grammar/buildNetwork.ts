import { assertNever, utf8 } from '../../base/index.js';
import { inferenceError } from '../errors.js';
import { analyseNetwork } from './analyseNetwork.js';
import type { CompileBudget } from './CompileBudget.js';
import { codePoints } from './codePoints.js';
import { type Expression, expr, type Range, type Rules } from './Expression.js';
import { endNode, type Network, type NetworkNode } from './Network.js';
import { utf8Sequences } from './utf8Sequences.js';

/**
 * Translates rules to a network over the bytes of `alphabet` (256 flags): those that the vocabulary has as tokens of their own, so that
 * whatever bytes are possible can be drawn. Errors: CONSTRAINT_INVALID (an unknown rule, left recursion, nothing matches),
 * CONSTRAINT_TOO_LARGE.
 */
export function buildNetwork(rules: Rules, alphabet: Uint8Array, budget: CompileBudget): Network {
  const builder = new NetworkBuilder(rules, alphabet, budget);
  const root = builder.build('root');
  const { nodes, starts, byteSets } = builder;
  const need = analyseNetwork({ nodes, starts, root, names: builder.names }, byteSets, budget);
  return { nodes, starts, root, need, ...classesOf(byteSets, budget) };
}

class NetworkBuilder {
  readonly nodes: NetworkNode[] = [{ kind: 'end' }];
  readonly starts: number[] = [];
  readonly names: string[] = [];
  /** 256 flags each. */
  readonly byteSets: Uint8Array[] = [];
  readonly #setIndex = new Map<string, number>();
  readonly #rules: Rules;
  readonly #alphabet: Uint8Array;
  readonly #budget: CompileBudget;
  readonly #ruleIndex = new Map<string | Expression, number>();
  readonly #pending: { readonly rule: number; readonly body: Expression }[] = [];

  constructor(rules: Rules, alphabet: Uint8Array, budget: CompileBudget) {
    this.#rules = rules;
    this.#alphabet = alphabet;
    this.#budget = budget;
  }

  /** Builds a rule and all that it reaches; tells its first node. */
  build(name: string): number {
    const root = this.#ruleOf(name);
    // One after another, not inside each other: rules that refer to rules are no deep recursion.
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.starts[next.rule] = this.#expression(next.body, endNode);
    }
    return this.starts[root] as number;
  }

  #ruleOf(key: string | Expression, body?: Expression): number {
    const known = this.#ruleIndex.get(key);
    if (known !== undefined) return known;
    const text = body ?? (typeof key === 'string' ? this.#rules.get(key) : key);
    if (text === undefined) throw inferenceError('CONSTRAINT_INVALID', `the grammar has no rule "${String(key)}"`);
    const rule = this.starts.length;
    this.#budget.check('rulesMax', rule + 1);
    this.starts.push(endNode);
    this.names.push(typeof key === 'string' ? key : 'a group');
    this.#ruleIndex.set(key, rule);
    this.#pending.push({ rule, body: text });
    return rule;
  }

  #add(node: NetworkNode): number {
    this.#budget.check('nodesMax', this.nodes.length);
    this.#budget.step();
    return this.nodes.push(node) - 1;
  }

  /** Builds from the end to the beginning: returns the node from which the expression is read before `to`. */
  #expression(expression: Expression, to: number): number {
    switch (expression.kind) {
      case 'bytes':
        return this.#bytes(expression.ranges, to);
      case 'chars':
        return this.#chars(expression.ranges, to);
      case 'text':
        return utf8.encode(expression.text).reduceRight((next, byte) => this.#bytes([{ from: byte, to: byte }], next), to);
      case 'sequence':
        return expression.parts.reduceRight((next, part) => this.#expression(part, next), to);
      case 'choice':
        return this.#add({ kind: 'split', to: expression.alternatives.map((each) => this.#expression(each, to)) });
      case 'repeat':
        return this.#repeat(expression, to);
      case 'rule':
        return this.#add({ kind: 'call', rule: this.#ruleOf(expression.name), to });
      default:
        return assertNever(expression);
    }
  }

  #bytes(ranges: readonly Range[], to: number): number {
    const flags = new Uint8Array(256);
    for (const range of ranges) for (let byte = range.from; byte <= range.to; byte++) flags[byte] = this.#alphabet[byte] as number;
    const key = flags.join('');
    let set = this.#setIndex.get(key);
    if (set === undefined) {
      set = this.byteSets.push(flags) - 1;
      this.#setIndex.set(key, set);
    }
    return this.#add({ kind: 'bytes', set, to });
  }

  /** ASCII is one arc; other characters are a rule of their own that all places of the same class share. */
  #chars(ranges: readonly Range[], to: number): number {
    const sorted = codePoints.normalise(ranges);
    const top = sorted.at(-1);
    if (top === undefined || top.to < 0x80) return this.#bytes(sorted, to);
    const key = `chars ${sorted.map((range) => `${range.from}-${range.to}`).join(' ')}`;
    return this.#add({ kind: 'call', rule: this.#ruleOf(key, utf8Choice(sorted)), to });
  }

  #repeat({ of, min, max }: Extract<Expression, { kind: 'repeat' }>, to: number): number {
    const body = (next: number): number =>
      max > 1 && of.kind !== 'bytes' && of.kind !== 'chars' ? this.#call(of, next) : this.#expression(of, next);
    let start = to;
    if (max === Number.POSITIVE_INFINITY) {
      const targets: number[] = [];
      start = this.#add({ kind: 'split', to: targets });
      targets.push(body(start), to);
    } else for (let count = min; count < max; count++) start = this.#add({ kind: 'split', to: [body(start), to] });
    for (let count = 0; count < min; count++) start = body(start);
    return start;
  }

  #call(of: Expression, to: number): number {
    const rule = of.kind === 'rule' ? this.#ruleOf(of.name) : this.#ruleOf(of);
    return this.#add({ kind: 'call', rule, to });
  }
}

const utf8Choice = (ranges: readonly Range[]): Expression =>
  expr.choice(
    ...utf8Sequences(ranges).map((sequence) => expr.sequence(...sequence.map((range): Expression => ({ kind: 'bytes', ranges: [range] })))),
  );

/** Bytes that are in the same sets form one class. */
function classesOf(byteSets: readonly Uint8Array[], budget: CompileBudget): Pick<Network, 'classOf' | 'classCount' | 'sets'> {
  const classOf = new Uint8Array(256);
  let classCount = 1;
  for (const flags of byteSets) {
    budget.step(256);
    const renamed = new Map<number, number>();
    for (let byte = 0; byte < 256; byte++) {
      const key = (classOf[byte] as number) * 2 + (flags[byte] as number);
      let named = renamed.get(key);
      if (named === undefined) {
        named = renamed.size;
        renamed.set(key, named);
      }
      classOf[byte] = named;
    }
    classCount = renamed.size;
  }
  const sets = byteSets.map((flags) => {
    const inSet = new Uint8Array(classCount);
    for (let byte = 0; byte < 256; byte++) inSet[classOf[byte] as number] = flags[byte] as number;
    return inSet;
  });
  return { classOf, classCount, sets };
}
