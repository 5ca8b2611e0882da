const blockTokens = 16;

interface Node<Entry> {
  readonly children: Map<string, Node<Entry>>;
  /** Every entry whose tokens lead through here, least recently used first. */
  readonly entries: Set<Entry>;
}

/** Something that is known by its tokens, within a scope: what may share at all. */
export interface PrefixKey {
  readonly scope: string;
  readonly tokens: Int32Array;
}

const newNode = <Entry>(): Node<Entry> => ({ children: new Map(), entries: new Set() });

const blockAt = (tokens: Int32Array, block: number): string | undefined => {
  const start = block * blockTokens;
  return start + blockTokens <= tokens.length ? tokens.subarray(start, start + blockTokens).join() : undefined;
};

const commonTokens = (left: Int32Array, right: Int32Array): number => {
  const length = Math.min(left.length, right.length);
  let count = 0;
  while (count < length && left[count] === right[count]) count++;
  return count;
};

/**
 * Finds who shares the longest prefix: a tree over blocks of 16 token ids, compared as ids, so that nothing is ever taken for another by
 * a hash. Memory grows with the tokens of the entries, which the caller bounds.
 */
export class PrefixTree<Entry extends PrefixKey> {
  readonly #roots = new Map<string, Node<Entry>>();

  add(entry: Entry): void {
    for (const node of this.#path(entry, true)) node.entries.add(entry);
  }

  remove(entry: Entry): void {
    const path = this.#path(entry, false);
    for (const node of path) node.entries.delete(entry);
    for (let depth = path.length - 1; depth > 0; depth--) {
      if ((path[depth] as Node<Entry>).entries.size > 0) return;
      path[depth - 1]?.children.delete(blockAt(entry.tokens, depth - 1) as string);
    }
    if (path[0]?.entries.size === 0) this.#roots.delete(entry.scope);
  }

  /** The entry goes last among those of its prefixes. */
  touch(entry: Entry): void {
    for (const node of this.#path(entry, false)) if (node.entries.delete(entry)) node.entries.add(entry);
  }

  /** The entry with the longest common prefix, the most recently used among equals, and how many tokens are common; undefined below one block. */
  longest(scope: string, tokens: Int32Array): { readonly entry: Entry; readonly tokens: number } | undefined {
    let node = this.#roots.get(scope);
    let depth = 0;
    for (let next = this.#child(node, tokens, depth); next; next = this.#child(node, tokens, depth)) {
      node = next;
      depth++;
    }
    if (node === undefined || depth === 0) return undefined;
    let best: { readonly entry: Entry; readonly tokens: number } | undefined;
    for (const entry of node.entries) {
      const common = commonTokens(entry.tokens, tokens);
      if (best === undefined || common >= best.tokens) best = { entry, tokens: common };
    }
    return best;
  }

  /** Other entries whose tokens are all in `entry`, at its beginning: what it can stand for. */
  coveredBy(entry: Entry): readonly Entry[] {
    const first = this.#child(this.#roots.get(entry.scope), entry.tokens, 0);
    return [...(first?.entries ?? [])].filter(
      (other) => other !== entry && commonTokens(other.tokens, entry.tokens) === other.tokens.length,
    );
  }

  /** Whether the first block of `tokens` is known in another scope. */
  isKnownElsewhere(scope: string, tokens: Int32Array): boolean {
    const first = blockAt(tokens, 0);
    if (first === undefined) return false;
    for (const [other, root] of this.#roots) if (other !== scope && root.children.has(first)) return true;
    return false;
  }

  #child(node: Node<Entry> | undefined, tokens: Int32Array, block: number): Node<Entry> | undefined {
    const key = blockAt(tokens, block);
    return key === undefined ? undefined : node?.children.get(key);
  }

  #path({ scope, tokens }: PrefixKey, makes: boolean): Node<Entry>[] {
    if (makes && !this.#roots.has(scope)) this.#roots.set(scope, newNode());
    let node = this.#roots.get(scope);
    const path: Node<Entry>[] = [];
    for (let block = 0; node !== undefined; block++) {
      path.push(node);
      const key = blockAt(tokens, block);
      if (key === undefined) break;
      if (makes && !node.children.has(key)) node.children.set(key, newNode());
      node = node.children.get(key);
    }
    return path;
  }
}
