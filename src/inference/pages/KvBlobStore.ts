import { pagesOf } from './pagesOf.js';
import { pageTokens } from './pageTokens.js';

/** The state of one sequence in host memory. Cached ones go when room is needed; held ones belong to a suspended request and stay. */
export interface KvBlob {
  readonly state: Uint8Array;
  readonly tokens: number;
  readonly pages: number;
  readonly kind: 'cached' | 'held';
}

/**
 * Host buffers for prefix cache and preemption, bounded by bytes and counted in pages (R20). Room for a new blob is made by dropping the least recently used
 * cached ones. Invariant: free + cached + held = `pagesMax`.
 */
export class KvBlobStore {
  readonly #pagesMax: number;
  readonly #bytesPerToken: number;
  readonly #onEvict: (blob: KvBlob) => void;
  /** Cached blobs, least recently used first. */
  readonly #cached = new Set<KvBlob>();
  readonly #held = new Set<KvBlob>();
  #cachedPages = 0;
  #heldPages = 0;

  constructor(options: { readonly bytesMax: number; readonly bytesPerToken: number; readonly onEvict: (blob: KvBlob) => void }) {
    this.#bytesPerToken = options.bytesPerToken;
    this.#pagesMax = Math.floor(options.bytesMax / (options.bytesPerToken * pageTokens));
    this.#onEvict = options.onEvict;
  }

  get pages(): { readonly total: number; readonly cached: number; readonly held: number; readonly free: number } {
    const [cached, held] = [this.#cachedPages, this.#heldPages];
    return { total: this.#pagesMax, cached, held, free: this.#pagesMax - cached - held };
  }

  /** Whether a blob of so many tokens finds room, cached ones being dropped for it. */
  hasRoomFor(tokens: number): boolean {
    return pagesOf(tokens) + this.#heldPages <= this.#pagesMax;
  }

  /** Takes a state; undefined where there is no room. What takes more bytes a token than was stated counts as so many more tokens. */
  put(state: Uint8Array, tokens: number, kind: KvBlob['kind']): KvBlob | undefined {
    const counted = Math.max(tokens, Math.floor(state.length / this.#bytesPerToken));
    if (!this.hasRoomFor(counted)) return undefined;
    const blob: KvBlob = { state, tokens, pages: pagesOf(counted), kind };
    for (const oldest of this.#cached) {
      if (this.pages.free >= blob.pages) break;
      this.drop(oldest);
      this.#onEvict(oldest);
    }
    if (kind === 'cached') this.#cachedPages += blob.pages;
    else this.#heldPages += blob.pages;
    this.#setOf(blob).add(blob);
    return blob;
  }

  /** The blob was used: it goes last. */
  touch(blob: KvBlob): void {
    if (!this.#cached.delete(blob)) return;
    this.#cached.add(blob);
  }

  drop(blob: KvBlob): void {
    if (!this.#setOf(blob).delete(blob)) return;
    if (blob.kind === 'cached') this.#cachedPages -= blob.pages;
    else this.#heldPages -= blob.pages;
  }

  #setOf({ kind }: KvBlob): Set<KvBlob> {
    return kind === 'cached' ? this.#cached : this.#held;
  }
}
