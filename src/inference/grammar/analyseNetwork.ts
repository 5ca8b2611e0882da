import { inferenceError } from '../errors.js';
import type { CompileBudget } from './CompileBudget.js';
import { endNode, type Network, type NetworkNode } from './Network.js';

interface Shape extends Pick<Network, 'nodes' | 'starts' | 'root'> {
  readonly names: readonly string[];
}

/**
 * Refuses left recursion, which would open rules without end, and grammars that no text matches; tells the `need` of each node.
 * Errors: CONSTRAINT_INVALID, CONSTRAINT_TOO_LARGE.
 */
export function analyseNetwork(shape: Shape, byteSets: readonly Uint8Array[], budget: CompileBudget): readonly number[] {
  refuseLeftRecursion(shape, emptyNodes(shape, budget), budget);
  const possible = byteSets.map((flags) => flags.includes(1));
  const need = settle<number>(shape, Number.POSITIVE_INFINITY, budget, (node, of) => {
    switch (node.kind) {
      case 'end':
        return 0;
      case 'bytes':
        return possible[node.set] ? of(node.to) : Number.POSITIVE_INFINITY;
      case 'split':
        return node.to.reduce((least, to) => Math.min(least, of(to)), Number.POSITIVE_INFINITY);
      case 'call': {
        const called = of(shape.starts[node.rule] as number);
        return node.to === endNode ? called : Math.max(called + 1, of(node.to)); // a rule at the end of a rule replaces it
      }
    }
  });
  const rootNeed = need[shape.root] as number;
  if (rootNeed === Number.POSITIVE_INFINITY)
    throw inferenceError('CONSTRAINT_INVALID', 'no text of this vocabulary satisfies the constraint');
  budget.check('stackDepthMax', rootNeed);
  return need;
}

/** Repeats a rule over all nodes until nothing changes. Nodes are built from the end, so that few rounds do. */
function settle<Value>(
  { nodes }: Shape,
  initial: Value,
  budget: CompileBudget,
  compute: (node: NetworkNode, of: (node: number) => Value) => Value,
): readonly Value[] {
  const values = new Array<Value>(nodes.length).fill(initial);
  const of = (node: number): Value => values[node] as Value;
  for (let changed = true; changed; ) {
    changed = false;
    budget.step(nodes.length);
    for (const [index, node] of nodes.entries()) {
      const value = compute(node, of);
      if (value === values[index]) continue;
      values[index] = value;
      changed = true;
    }
  }
  return values;
}

/** Nodes from which a rule can end without a byte. */
function emptyNodes(shape: Shape, budget: CompileBudget): readonly boolean[] {
  return settle<boolean>(shape, false, budget, (node, of) => {
    switch (node.kind) {
      case 'end':
        return true;
      case 'bytes':
        return false;
      case 'split':
        return node.to.some(of);
      case 'call':
        return of(shape.starts[node.rule] as number) && of(node.to);
    }
  });
}

function refuseLeftRecursion(shape: Shape, empty: readonly boolean[], budget: CompileBudget): void {
  const edges = shape.starts.map((start) => leftCalls(shape, start, empty, budget));
  const colour = new Uint8Array(edges.length); // 1 = on the path, 2 = done
  for (let first = 0; first < edges.length; first++) {
    const path: { readonly rule: number; next: number }[] = colour[first] === 0 ? [{ rule: first, next: 0 }] : [];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      colour[top.rule] = 1;
      const callee = (edges[top.rule] as readonly number[])[top.next++];
      if (callee === undefined) colour[(path.pop() as { rule: number }).rule] = 2;
      else if (colour[callee] === 1) {
        throw inferenceError('CONSTRAINT_INVALID', `left recursion: "${shape.names[callee]}" can begin with itself`);
      } else if (colour[callee] === 0) path.push({ rule: callee, next: 0 });
    }
  }
}

/** Rules that can be opened from a node before the first byte. */
function leftCalls({ nodes, starts }: Shape, start: number, empty: readonly boolean[], budget: CompileBudget): readonly number[] {
  const called = new Set<number>();
  const seen = new Set([start]);
  for (const index of seen) {
    budget.step();
    const node = nodes[index] as NetworkNode;
    if (node.kind === 'split') for (const to of node.to) seen.add(to);
    if (node.kind !== 'call') continue;
    called.add(node.rule);
    if (empty[starts[node.rule] as number]) seen.add(node.to);
  }
  return [...called];
}
