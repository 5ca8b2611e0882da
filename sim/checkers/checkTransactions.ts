import { type Edge, findCycle } from './findCycle.js';
import type { ListTransaction } from './ListTransaction.js';

export type TransactionVerdict = { readonly kind: 'serializable' } | { readonly kind: 'violation'; readonly why: string };

interface Graph {
  readonly edges: Edge[][];
  /** Writer of a key's value. */
  readonly writers: ReadonlyMap<string, number>;
  /** The values of each key in the order in which they came. */
  readonly orders: ReadonlyMap<string, readonly number[]>;
}

const valueName = (key: string, value: number): string => `${key}/${value}`;

/**
 * Whether transactions on lists have a serial order (Adya's dependency graph, found from lists as Elle does): a list shows the order of
 * its writers, so every read tells whom it follows (write-read), who comes after it (read-write), and neighbours in a list follow one
 * another (write-write). With `slackMs`, one that was answered that much before another was asked for comes before it, too (strict;
 * the slack is how far the wall clocks of shards may differ). A cycle, a read of what was refused, lists that disagree and an acknowledged
 * value that no longest list holds are violations.
 */
export function checkTransactions(history: readonly ListTransaction[], options: { readonly slackMs: number }): TransactionVerdict {
  const writers = new Map(history.flatMap(({ appends }, at) => appends.map(({ key, value }) => [valueName(key, value), at] as const)));
  const longest = longestLists(history);
  const wrong = disagreement(history, longest) ?? unwritten(history, longest, writers) ?? lostValue(history, longest);
  if (wrong !== undefined) return { kind: 'violation', why: wrong };
  const graph: Graph = { edges: history.map(() => []), writers, orders: longest };
  addWriteEdges(graph);
  for (const [at, transaction] of history.entries()) addReadEdges(graph, at, transaction);
  addTimeEdges(graph, history, options.slackMs);
  const cycle = findCycle(graph.edges);
  if (cycle === undefined) return { kind: 'serializable' };
  return { kind: 'violation', why: `no serial order: ${cycle.map(({ node, why }) => `${history[node]?.name} -${why}→`).join(' ')}` };
}

const longestLists = (history: readonly ListTransaction[]): ReadonlyMap<string, readonly number[]> => {
  const longest = new Map<string, readonly number[]>();
  for (const { reads } of history) {
    for (const { key, values } of reads) if (values.length >= (longest.get(key)?.length ?? 0)) longest.set(key, values);
  }
  return longest;
};

const disagreement = (history: readonly ListTransaction[], longest: ReadonlyMap<string, readonly number[]>): string | undefined => {
  for (const { name, reads } of history) {
    for (const { key, values } of reads) {
      const order = longest.get(key) ?? [];
      if (values.some((value, i) => order[i] !== value)) return `${name} read ${key} = [${values}], another read [${order}]`;
    }
  }
  return undefined;
};

const unwritten = (
  history: readonly ListTransaction[],
  longest: ReadonlyMap<string, readonly number[]>,
  writers: ReadonlyMap<string, number>,
): string | undefined => {
  for (const [key, values] of longest) {
    if (new Set(values).size !== values.length) return `${key} = [${values}] holds a value twice`;
    for (const value of values) {
      const writer = history[writers.get(valueName(key, value)) ?? -1];
      if (writer === undefined || writer.outcome === 'none')
        return `${key} holds ${value}, which ${writer?.name ?? 'nobody'} did not write`;
    }
  }
  return undefined;
};

/** Holds for a history that ends with reads of all keys. */
const lostValue = (history: readonly ListTransaction[], longest: ReadonlyMap<string, readonly number[]>): string | undefined => {
  for (const { name, outcome, appends } of history) {
    const lost = outcome === 'done' ? appends.find(({ key, value }) => !longest.get(key)?.includes(value)) : undefined;
    if (lost !== undefined) return `${name} appended ${lost.value} to ${lost.key}, and it is gone`;
  }
  return undefined;
};

const addEdge = ({ edges }: Graph, from: number | undefined, to: number | undefined, why: string): void => {
  if (from !== undefined && to !== undefined && from !== to) edges[from]?.push({ to, why });
};

const addWriteEdges = (graph: Graph): void => {
  for (const [key, values] of graph.orders) {
    for (const [i, value] of values.entries()) {
      if (i === 0) continue;
      const before = graph.writers.get(valueName(key, values[i - 1] as number));
      addEdge(graph, before, graph.writers.get(valueName(key, value)), `ww ${key}`);
    }
  }
};

const addReadEdges = (graph: Graph, at: number, { reads }: ListTransaction): void => {
  for (const { key, values } of reads) {
    const last = values.at(-1);
    if (last !== undefined) addEdge(graph, graph.writers.get(valueName(key, last)), at, `wr ${key}`);
    const next = graph.orders.get(key)?.[values.length];
    if (next !== undefined) addEdge(graph, at, graph.writers.get(valueName(key, next)), `rw ${key}`);
  }
};

/** Only those that surely happened have a place in time; a refused one has none. */
const addTimeEdges = (graph: Graph, history: readonly ListTransaction[], slackMs: number): void => {
  for (const [from, before] of history.entries()) {
    if (before.outcome !== 'done') continue;
    for (const [to, after] of history.entries()) {
      if (after.outcome === 'done' && before.returnedMs + slackMs < after.invokedMs) addEdge(graph, from, to, 'time');
    }
  }
};
