import {
  type BackendFacts,
  type PrefixArrival,
  type PrefixHeader,
  type PrefixPart,
  type PrefixPiece,
  platformError,
} from '../../platform/index.js';
import type { InferenceOptions } from '../options.js';
import type { BufferedPrefix, PagedKVCache } from './PagedKVCache.js';
import { PrefixImport } from './PrefixImport.js';
import { packDigests } from './packDigests.js';
import { prefixDigests } from './prefixDigests.js';

export interface PrefixTransfersParts {
  readonly pages: Pick<PagedKVCache, 'buffers' | 'adopt'>;
  readonly facts: Pick<BackendFacts, 'stateFacts' | 'vocabularySize' | 'contextTokens' | 'kvBytesPerToken'>;
  readonly modelDigest: string;
  readonly options: Pick<InferenceOptions, 'prefixImportsMax' | 'prefixesAnnouncedMax' | 'kvStoreBytesMax'>;
}

/** What a state has beside its rows, bytes: heads of cells and layers. */
const stateHeadBytes = 65_536;

/**
 * The engine's end of exchanging prompt prefixes between shards (R27): what it offers, pieces of it, and pieces that arrive. Everything of
 * E4 is compared before a byte is kept.
 */
export class PrefixTransfers {
  readonly #parts: PrefixTransfersParts;
  /** Oldest first, bounded by `prefixImportsMax`. */
  readonly #imports = new Map<string, PrefixImport>();
  readonly #digests = new WeakMap<Int32Array, readonly string[]>();

  constructor(parts: PrefixTransfersParts) {
    this.#parts = parts;
  }

  /** Digests of a prompt's beginnings with this adapter, as all engines that could share its rows compute them. */
  digestsOf(adapter: string, tokens: Int32Array): readonly string[] {
    return prefixDigests(JSON.stringify(this.#factsOf(adapter)), tokens);
  }

  /** What gossip carries of the buffers, newest first. */
  announced(): string {
    const digests = new Set<string>();
    for (const buffer of this.#parts.pages.buffers().toReversed()) for (const digest of this.#digestsOfBuffer(buffer)) digests.add(digest);
    return packDigests([...digests].slice(0, this.#parts.options.prefixesAnnouncedMax));
  }

  /** Errors: KV_PREFIX_UNKNOWN. */
  read({ digest, offset, bytesMax }: PrefixPiece): PrefixPart {
    const found = this.#parts.pages.buffers().find((buffer) => this.#digestsOfBuffer(buffer).includes(digest));
    if (found === undefined) throw platformError('KV_PREFIX_UNKNOWN', `no rows are held of the prefix ${digest}`);
    const { scope, tokens, state } = found;
    const header = { digest, facts: this.#factsOf(adapterOf(scope)), tokens, stateBytes: state.length };
    return { header, offset, bytes: state.subarray(offset, offset + bytesMax) };
  }

  /** Errors: KV_PREFIX_MISMATCH, KV_PREFIX_DAMAGED, KV_PREFIX_NO_ROOM. */
  write(part: PrefixPart): PrefixArrival {
    const { header } = part;
    this.#check(header);
    const arriving = this.#importOf(header);
    try {
      arriving.take(part);
    } catch (thrown) {
      this.#imports.delete(header.digest);
      throw thrown;
    }
    const { receivedBytes, state } = arriving;
    if (state === undefined) return { receivedBytes, isWhole: false };
    this.#imports.delete(header.digest);
    const scope = `${this.#parts.modelDigest}/${header.facts['adapter']}`;
    const isKept = this.#parts.pages.adopt({ scope, tokens: header.tokens, state });
    if (!isKept && !this.#isHeld(header)) throw platformError('KV_PREFIX_NO_ROOM', `${state.length} bytes of rows find no room`);
    return { receivedBytes, isWhole: true };
  }

  /** Another request may have brought, or computed, the same meanwhile. */
  #isHeld({ digest }: PrefixHeader): boolean {
    return this.#parts.pages.buffers().some((buffer) => this.#digestsOfBuffer(buffer).includes(digest));
  }

  #importOf(header: PrefixHeader): PrefixImport {
    const known = this.#imports.get(header.digest);
    if (known?.isOf(header)) return known;
    this.#imports.delete(header.digest);
    for (const oldest of this.#imports.keys()) {
      if (this.#imports.size < this.#parts.options.prefixImportsMax) break;
      this.#imports.delete(oldest);
    }
    const fresh = new PrefixImport(header);
    this.#imports.set(header.digest, fresh);
    return fresh;
  }

  #check({ digest, facts, tokens, stateBytes }: PrefixHeader): void {
    const own = this.#factsOf(facts['adapter'] ?? '');
    for (const field of new Set([...Object.keys(own), ...Object.keys(facts)]))
      if (own[field] !== facts[field])
        throw platformError('KV_PREFIX_MISMATCH', `${field} is ${facts[field]} there and ${own[field]} here`, { data: { field } });
    const { vocabularySize, contextTokens, kvBytesPerToken } = this.#parts.facts;
    const isTokens = tokens.length <= contextTokens && tokens.every((token) => token >= 0 && token < vocabularySize);
    if (!isTokens || !this.digestsOf(facts['adapter'] ?? '', tokens).includes(digest))
      throw platformError('KV_PREFIX_DAMAGED', `${tokens.length} tokens do not have the digest ${digest}`);
    if (stateBytes < 1 || stateBytes > tokens.length * kvBytesPerToken * 1.1 + stateHeadBytes)
      throw platformError('KV_PREFIX_DAMAGED', `${stateBytes} bytes are no rows of ${tokens.length} tokens`);
    if (stateBytes > this.#parts.options.kvStoreBytesMax)
      throw platformError('KV_PREFIX_NO_ROOM', `${stateBytes} bytes of rows are more than all prefixes may take`);
  }

  #digestsOfBuffer({ scope, tokens }: BufferedPrefix): readonly string[] {
    const known = this.#digests.get(tokens);
    if (known !== undefined) return known;
    const digests = this.digestsOf(adapterOf(scope), tokens);
    this.#digests.set(tokens, digests);
    return digests;
  }

  #factsOf(adapter: string): PrefixHeader['facts'] {
    return { model: this.#parts.modelDigest, adapter, ...this.#parts.facts.stateFacts };
  }
}

/** A scope is the model's digest and the adapter's key. */
const adapterOf = (scope: string): string => scope.slice(scope.indexOf('/') + 1);
