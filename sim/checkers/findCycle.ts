export interface Edge {
  readonly to: number;
  /** Why `to` comes after. */
  readonly why: string;
}

/** A cycle of the graph as `[node, why the next comes after it]…`; undefined when there is none. `edges[i]` leave node i. */
export function findCycle(edges: readonly (readonly Edge[])[]): readonly { readonly node: number; readonly why: string }[] | undefined {
  const state = new Uint8Array(edges.length); // 0 new, 1 on the path, 2 done
  for (let start = 0; start < edges.length; start++) {
    if (state[start] !== 0) continue;
    const path: { node: number; next: number }[] = [{ node: start, next: 0 }];
    state[start] = 1;
    while (path.length > 0) {
      const top = path.at(-1) as { node: number; next: number };
      const edge = edges[top.node]?.[top.next++];
      if (edge === undefined) {
        state[top.node] = 2;
        path.pop();
      } else if (state[edge.to] === 1) {
        const from = path.findIndex(({ node }) => node === edge.to);
        return path.slice(from).map(({ node, next }) => ({ node, why: edges[node]?.[next - 1]?.why ?? '' }));
      } else if (state[edge.to] === 0) {
        state[edge.to] = 1;
        path.push({ node: edge.to, next: 0 });
      }
    }
  }
  return undefined;
}
