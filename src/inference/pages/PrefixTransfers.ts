import {
  type BackendFacts,
  type PrefixArrival,
  type PrefixHeader,
  type PrefixPart,
  type PrefixPiece,
  platformError,
} from '../../platform/index.js';
import { prefixMarks } from '../../protocol/index.js';
import type { InferenceOptions } from '../options.js';
import type { BufferedPrefix, PagedKVCache } from './PagedKVCache.js';
import { PrefixImport } from './PrefixImport.js';
import { prefixDigests } from './prefixDigests.js';
import { prefixScope } from './prefixScope.js';

export interface PrefixTransfersParts {
  readonly pages: Pick<PagedKVCache, 'buffers' | 'adopt' | 'heldTokens'>;
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

  /** What gossip carries of the buffers, newest first; of a long one no more than a share while others have something to tell. */
  announced(): string {
    const most = this.#parts.options.prefixesAnnouncedMax;
    const all = this.#parts.pages
      .buffers()
      .toReversed()
      .map((buffer) => this.#digestsOfBuffer(buffer));
    const share = Math.max(1, Math.ceil(most / Math.max(1, all.length)));
    const digests = new Set(all.flatMap((one) => one.slice(0, share)).concat(all.flat()));
    return prefixMarks.encode([...digests].slice(0, most));
  }

  /** Errors: KV_PREFIX_UNKNOWN. */
  read({ digest, offset, bytesMax }: PrefixPiece): PrefixPart {
    const found = this.#parts.pages
      .buffers()
      .filter((buffer) => this.#digestsOfBuffer(buffer).includes(digest))
      .reduce<BufferedPrefix | undefined>((best, other) => (best && best.state.length <= other.state.length ? best : other), undefined);
    if (found === undefined) throw platformError('KV_PREFIX_UNKNOWN', `no rows are held of the prefix ${digest}`);
    const { scope, tokens, state } = found;
    const header = { digest, facts: this.#factsOf(prefixScope.adapterOf(scope)), tokens, stateBytes: state.length };
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
    const scope = prefixScope.of({ modelDigest: this.#parts.modelDigest, adapter: header.facts['adapter'] ?? '' });
    const isKept = this.#parts.pages.adopt({ scope, tokens: header.tokens, state });
    if (!isKept && this.#parts.pages.heldTokens(scope, header.tokens) === 0)
      throw platformError('KV_PREFIX_NO_ROOM', `${state.length} bytes of rows find no room`);
    return { receivedBytes, isWhole: true };
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
    const digests = this.digestsOf(prefixScope.adapterOf(scope), tokens);
    this.#digests.set(tokens, digests);
    return digests;
  }

  #factsOf(adapter: string): PrefixHeader['facts'] {
    return { model: this.#parts.modelDigest, adapter, ...this.#parts.facts.stateFacts };
  }
}
