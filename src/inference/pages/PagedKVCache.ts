import { assert, toOstrakaError } from '../../base/index.js';
import { type Clock, type Logger, type PageCounts, type PrefixOutcome, prefixUnitTokens, type StepBackend } from '../../platform/index.js';
import { CopyCosts } from './CopyCosts.js';
import { type KvBlob, KvBlobStore } from './KvBlobStore.js';
import { type CachedPrefix, LLMPrefixCache } from './LLMPrefixCache.js';
import { pagesOf } from './pagesOf.js';

type Backend = Pick<
  StepBackend,
  'facts' | 'truncateSequence' | 'moveSequence' | 'copySequence' | 'sequenceLength' | 'exportSequence' | 'importSequence'
>;

export interface PagedKVCacheParts {
  readonly backend: Backend;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Weight of the newest copy in the moving means of what copies cost. */
  readonly copyCostWeight: number;
  /** Bytes of host memory for cached prefixes and suspended requests. */
  readonly storeBytesMax: number;
  /** Pages of the model's own cells that requests may hold together; the rest is never filled. */
  readonly cellPagesMax: number;
  readonly reuseTokensMin: number;
}

interface HeldSequence {
  readonly scope: string;
  readonly prompt: Int32Array;
  /** Tokens that are sure to come. */
  readonly reservedTokens: number;
  /** Tokens computed. */
  tokens: number;
  /** What other prompts may share, once the prompt is computed. */
  prefix: CachedPrefix | undefined;
}

/** What a suspended request left behind: its rows in a buffer, or nothing, when there was no room for them. */
export interface SuspendedRows {
  readonly blob: KvBlob | undefined;
}

/** A prefix with its rows as bytes. */
export interface BufferedPrefix {
  readonly scope: string;
  readonly tokens: Int32Array;
  readonly state: Uint8Array;
}

/**
 * Who holds which KV rows (R20, paper §III-C): the model's cells by sequence, and host buffers for shared prefixes and suspended
 * requests, both counted in pages of 16 tokens. The only one that copies, exports and imports sequences. `check` reconciles the counts
 * with what the model itself holds.
 */
export class PagedKVCache {
  readonly #parts: PagedKVCacheParts;
  readonly #store: KvBlobStore;
  readonly #prefixes: LLMPrefixCache;
  readonly #copyCosts: CopyCosts;
  readonly #lookups = { hit: 0, short: 0, unknown: 0, scope: 0, refused: 0 };
  readonly #held = new Map<number, HeldSequence>();

  constructor(parts: PagedKVCacheParts) {
    this.#parts = parts;
    this.#prefixes = new LLMPrefixCache(parts.reuseTokensMin);
    this.#copyCosts = new CopyCosts(parts.copyCostWeight);
    this.#store = new KvBlobStore({
      bytesMax: parts.storeBytesMax,
      bytesPerToken: parts.backend.facts.kvBytesPerToken,
      onEvict: (blob) => this.#prefixes.evicted(blob),
    });
  }

  /** What prompts found, counted since the start. */
  get prefixLookups(): { readonly [outcome in PrefixOutcome]: number } {
    return { ...this.#lookups };
  }

  /** Pages of the model's cells; a prompt holds its pages from the start. */
  get cells(): PageCounts {
    const { cellPagesMax: total } = this.#parts;
    let held = 0;
    for (const { tokens, reservedTokens } of this.#held.values()) held += pagesOf(Math.max(tokens, reservedTokens));
    return { total, held, cached: 0, free: total - held };
  }

  /** Pages of the host buffers. */
  get store(): PageCounts {
    return this.#store.pages;
  }

  /** A request takes an empty sequence. */
  open(sequence: number, request: { readonly scope: string; readonly prompt: Int32Array; readonly rows: number }): void {
    assert(!this.#held.has(sequence), 'a sequence has one holder', { sequence });
    const { scope, prompt, rows } = request;
    this.#held.set(sequence, { scope, prompt, reservedTokens: Math.max(prompt.length, rows), tokens: 0, prefix: undefined });
  }

  /** Fills the sequence with the longest prefix that is known of its prompt; returns its tokens. */
  reuse(sequence: number): number {
    const { backend } = this.#parts;
    const held = this.#holderOf(sequence);
    if (!backend.facts.cutsAnywhere) return 0;
    const match = this.#prefixes.match(held.scope, held.prompt);
    if (match.prefix === undefined) {
      this.#lookups[match.miss]++;
      return 0;
    }
    if (!this.#fill(sequence, match.prefix)) {
      this.#lookups.refused++;
      return 0;
    }
    backend.truncateSequence(sequence, match.tokens);
    held.tokens = match.tokens;
    this.#lookups.hit++;
    return match.tokens;
  }

  /** Tokens of a prompt's beginning that are held for whoever asks for it. */
  heldTokens(scope: string, prompt: Int32Array): number {
    return this.#parts.backend.facts.cutsAnywhere ? this.#prefixes.heldTokens(scope, prompt) : 0;
  }

  /** Prefixes in host buffers, with their rows (R27). */
  buffers(): readonly BufferedPrefix[] {
    return this.#prefixes
      .inBuffers()
      .flatMap(({ scope, tokens, source }) => (source.kind === 'blob' ? [{ scope, tokens, state: source.blob.state }] : []));
  }

  /** Keeps rows that another engine has computed; false where there is no room, or the same are held. */
  adopt({ scope, tokens, state }: BufferedPrefix): boolean {
    if (this.heldTokens(scope, tokens) >= tokens.length - prefixUnitTokens) return false;
    const blob = this.#store.put(state, tokens.length, 'cached');
    if (blob === undefined) return false;
    const prefix = this.#prefixes.add(scope, tokens, { kind: 'blob', blob });
    if (prefix === undefined) this.#store.drop(blob);
    else for (const covered of this.#prefixes.buffersCoveredBy(prefix)) this.#forget(covered);
    return prefix !== undefined;
  }

  /** Milliseconds to put a row back that is held as bytes; undefined before the first. */
  get putBackRowMs(): number | undefined {
    return this.#copyCosts.putBackRowMs;
  }

  /** Rows were computed. */
  grow(sequence: number, rows: number): void {
    this.#holderOf(sequence).tokens += rows;
  }

  /** Of the newest rows only the first are right: what was drafted behind them goes. */
  growDrafted(sequence: number, { computed, right }: { readonly computed: number; readonly right: number }): void {
    const held = this.#holderOf(sequence);
    held.tokens += right;
    if (right < computed) this.#parts.backend.truncateSequence(sequence, held.tokens);
  }

  /** The sequence holds its whole prompt: others may share it from now on. */
  promptEnded(sequence: number): void {
    const held = this.#holderOf(sequence);
    if (held.prefix !== undefined || !this.#parts.backend.facts.cutsAnywhere) return;
    held.prefix = this.#prefixes.add(held.scope, held.prompt, { kind: 'sequence', sequence });
  }

  /**
   * The request has ended: its prompt rows are kept for others where there is room, and those of its answer, when one is given; its
   * sequence is empty afterwards.
   */
  close(sequence: number, answer?: readonly number[]): void {
    const held = this.#held.get(sequence);
    if (held === undefined) return; // dropped before
    const prefix = answer === undefined ? held.prefix : this.#withAnswer(sequence, held, answer);
    if (prefix !== undefined && !this.#keep(sequence, prefix)) this.#prefixes.remove(prefix);
    this.#empty(sequence);
  }

  /** A step over the sequence has failed: nothing of it is used again. */
  drop(sequence: number): void {
    const { prefix } = this.#holderOf(sequence);
    if (prefix !== undefined) this.#prefixes.remove(prefix);
    this.#empty(sequence);
  }

  /** Whether so many rows of a suspended request would find room in a buffer. */
  canKeep(tokens: number): boolean {
    return this.#store.hasRoomFor(tokens);
  }

  /**
   * Takes the request's rows out of its sequence: into a buffer where there is room and that costs less than `recomputeMs`, what it would
   * cost to compute them again (undefined: not known yet).
   */
  suspend(sequence: number, recomputeMs: number | undefined): SuspendedRows {
    const { tokens, prefix } = this.#holderOf(sequence);
    if (prefix !== undefined) this.#prefixes.remove(prefix);
    const keepMs = this.#copyCosts.keepMs(tokens) ?? 0;
    const isKept = tokens > 0 && keepMs <= (recomputeMs ?? Number.POSITIVE_INFINITY);
    const blob = isKept ? this.#export(sequence, tokens, 'held') : undefined;
    this.#empty(sequence);
    return { blob };
  }

  /** Puts a suspended request's rows into the sequence it has now; returns their tokens, 0 where they must be computed again. */
  resume(sequence: number, { blob }: SuspendedRows): number {
    if (blob === undefined) return 0;
    this.#store.drop(blob);
    if (!this.#import(sequence, blob)) return 0;
    this.#holderOf(sequence).tokens = blob.tokens;
    return blob.tokens;
  }

  /** A suspended request has ended. */
  discard({ blob }: SuspendedRows): void {
    if (blob !== undefined) this.#store.drop(blob);
  }

  /** The contents of a sequence get another id. */
  move(from: number, to: number): void {
    const held = this.#holderOf(from);
    this.#parts.backend.moveSequence(from, to);
    this.#held.delete(from);
    this.#held.set(to, held);
    if (held.prefix !== undefined) this.#prefixes.relocate(held.prefix, { kind: 'sequence', sequence: to });
  }

  /** The accounting agrees with the model: every sequence holds what is counted. Error INTERNAL. */
  check(): void {
    const { backend } = this.#parts;
    for (let sequence = 0; sequence < backend.facts.sequencesMax; sequence++) {
      const counted = this.#held.get(sequence)?.tokens ?? 0;
      const length = backend.sequenceLength(sequence);
      assert(counted === length, 'pages are counted as the model holds them', { sequence, counted, length });
    }
    const { total, held, cached, free } = this.store;
    assert(free >= 0 && held + cached + free === total, 'free + cached + held = total', { total, held, cached, free });
  }

  #withAnswer(sequence: number, { scope, prompt, tokens, prefix }: HeldSequence, answer: readonly number[]): CachedPrefix | undefined {
    if (tokens <= prompt.length || !this.#parts.backend.facts.cutsAnywhere) return prefix;
    if (prefix !== undefined) this.#prefixes.remove(prefix);
    const all = Int32Array.from([...prompt, ...answer.slice(0, tokens - prompt.length)]);
    return this.#prefixes.add(scope, all, { kind: 'sequence', sequence });
  }

  /** False when there is no room, or the model gives no bytes: nobody shares the prompt then. */
  #keep(sequence: number, prefix: CachedPrefix): boolean {
    const tokens = prefix.tokens.length;
    if (!this.#store.hasRoomFor(tokens)) return false;
    this.#parts.backend.truncateSequence(sequence, tokens);
    const blob = this.#export(sequence, tokens, 'cached');
    if (blob === undefined) return false;
    this.#prefixes.relocate(prefix, { kind: 'blob', blob });
    for (const covered of this.#prefixes.buffersCoveredBy(prefix)) this.#forget(covered);
    return true;
  }

  /** A state that cannot be had costs computing rows again, never a request. */
  #export(sequence: number, tokens: number, kind: KvBlob['kind']): KvBlob | undefined {
    if (!this.#store.hasRoomFor(tokens)) return undefined;
    const { backend, clock } = this.#parts;
    const beganMs = clock.monotonicMs();
    try {
      const state = backend.exportSequence(sequence);
      this.#copyCosts.wasTakenOut(tokens, clock.monotonicMs() - beganMs);
      return this.#store.put(state, tokens, kind); // undefined where the bytes are more than was thought
    } catch (thrown) {
      const { code, message } = toOstrakaError(thrown);
      this.#parts.logger.error('inference.kv_export_failed', { code, message });
      return undefined;
    }
  }

  #fill(sequence: number, { source }: CachedPrefix): boolean {
    if (source.kind === 'sequence') {
      this.#parts.backend.copySequence(source.sequence, sequence);
      return true;
    }
    this.#store.touch(source.blob);
    if (this.#import(sequence, source.blob)) return true;
    this.#forget(source.blob);
    return false;
  }

  #forget(blob: KvBlob): void {
    this.#store.drop(blob);
    this.#prefixes.evicted(blob);
  }

  /** False when the model does not take the bytes: the rows are then computed again. */
  #import(sequence: number, blob: KvBlob): boolean {
    const { backend, clock } = this.#parts;
    const beganMs = clock.monotonicMs();
    try {
      backend.importSequence(sequence, blob.state, blob.tokens);
      this.#copyCosts.wasPutBack(blob.tokens, clock.monotonicMs() - beganMs);
      return true;
    } catch (thrown) {
      const { code, message } = toOstrakaError(thrown);
      if (code !== 'KV_STATE_INVALID') throw thrown;
      this.#parts.logger.error('inference.kv_state_refused', { code, message });
      return false;
    }
  }

  #empty(sequence: number): void {
    this.#held.delete(sequence);
    this.#parts.backend.truncateSequence(sequence, 0);
  }

  #holderOf(sequence: number): HeldSequence {
    const held = this.#held.get(sequence);
    assert(held !== undefined, 'a sequence in use has a holder', { sequence });
    return held;
  }
}
