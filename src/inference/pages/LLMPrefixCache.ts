import type { KvBlob } from './KvBlobStore.js';
import { PrefixTree } from './PrefixTree.js';

/** Where the rows of a prefix are: in a running sequence, or in a buffer. */
export type PrefixSource = { readonly kind: 'sequence'; readonly sequence: number } | { readonly kind: 'blob'; readonly blob: KvBlob };

export interface CachedPrefix {
  /** Model, adapter and scale: rows of one are never another's. */
  readonly scope: string;
  /** Computed as prompt rows of one prefill. */
  readonly tokens: Int32Array;
  source: PrefixSource;
}

/** `short`: the prompt is too short to share; `unknown`: nobody has its beginning; `scope`: somebody has, under another adapter. */
export type PrefixMiss = 'short' | 'unknown' | 'scope';

export type PrefixMatch =
  | { readonly prefix: CachedPrefix; readonly tokens: number }
  | { readonly prefix: undefined; readonly miss: PrefixMiss };

/** Rule R: rows of a prompt are computed in calls of at least so many; a shorter rest would use another kernel, with other bits. */
const restTokensMin = 64;

/** A shorter prompt was computed by that other kernel: its rows are nobody else's. */
const promptTokensMin = 64;

/**
 * Which rows of a prompt need not be computed (R20, paper §IV-D): the longest prefix that some earlier or running prompt shares, cut so
 * that at least 64 rows are left. Only prompt rows are offered, never those of an answer, whose bits differ.
 */
export class LLMPrefixCache {
  readonly #tree = new PrefixTree<CachedPrefix>();
  readonly #ofBlob = new Map<KvBlob, CachedPrefix>();
  readonly #reuseTokensMin: number;

  constructor(reuseTokensMin: number) {
    this.#reuseTokensMin = reuseTokensMin;
  }

  /** Prefixes in buffers, which can leave. */
  inBuffers(): readonly CachedPrefix[] {
    return [...this.#ofBlob.values()];
  }

  /** Tokens of a prompt that need not be computed, without using them. */
  heldTokens(scope: string, prompt: Int32Array): number {
    const usable = prompt.length - restTokensMin;
    const tokens = Math.min(this.#tree.longest(scope, prompt)?.tokens ?? 0, usable);
    return tokens >= this.#reuseTokensMin ? tokens : 0;
  }

  match(scope: string, prompt: Int32Array): PrefixMatch {
    const usable = prompt.length - restTokensMin;
    if (usable < this.#reuseTokensMin) return { prefix: undefined, miss: 'short' };
    const found = this.#tree.longest(scope, prompt);
    const tokens = Math.min(found?.tokens ?? 0, usable);
    if (found !== undefined && tokens >= this.#reuseTokensMin) {
      this.#tree.touch(found.entry);
      return { prefix: found.entry, tokens };
    }
    return { prefix: undefined, miss: this.#tree.isKnownElsewhere(scope, prompt) ? 'scope' : 'unknown' };
  }

  /** Offers a prompt's rows. Returns undefined where another prefix offers all but what is computed anew in any case. */
  add(scope: string, tokens: Int32Array, source: PrefixSource): CachedPrefix | undefined {
    if (tokens.length < Math.max(promptTokensMin, this.#reuseTokensMin)) return undefined;
    const found = this.#tree.longest(scope, tokens);
    if (found !== undefined && found.tokens >= tokens.length - restTokensMin) return undefined;
    const prefix: CachedPrefix = { scope, tokens, source };
    this.#tree.add(prefix);
    if (source.kind === 'blob') this.#ofBlob.set(source.blob, prefix);
    return prefix;
  }

  /** The rows have moved. */
  relocate(prefix: CachedPrefix, source: PrefixSource): void {
    if (prefix.source.kind === 'blob') this.#ofBlob.delete(prefix.source.blob);
    prefix.source = source;
    if (source.kind === 'blob') this.#ofBlob.set(source.blob, prefix);
  }

  /** Buffers that are not needed beside this prefix, which has their rows, too: those of a conversation's earlier turns. */
  buffersCoveredBy(prefix: CachedPrefix): readonly KvBlob[] {
    return this.#tree.coveredBy(prefix).flatMap(({ source }) => (source.kind === 'blob' ? [source.blob] : []));
  }

  remove(prefix: CachedPrefix): void {
    this.#tree.remove(prefix);
    if (prefix.source.kind === 'blob') this.#ofBlob.delete(prefix.source.blob);
  }

  /** The store has dropped the blob. */
  evicted(blob: KvBlob): void {
    const prefix = this.#ofBlob.get(blob);
    if (prefix !== undefined) this.remove(prefix);
  }
}
