import {
  adapterKey,
  type BackendFacts,
  type GenerateRequest,
  noPrefixExchange,
  type PrefixArrival,
  type PrefixExchange,
  type PrefixLookup,
  type PrefixPart,
  type PrefixPiece,
  prefixUnitTokens,
} from '../../platform/index.js';
import type { InferenceOptions } from '../options.js';
import type { PagedKVCache } from './PagedKVCache.js';
import { PrefixTransfers } from './PrefixTransfers.js';
import { prefixScope } from './prefixScope.js';

export interface EnginePrefixesParts {
  /** False where rows of a prompt are not the same bits on every engine of the kind. */
  readonly isOn: boolean;
  readonly pages: PagedKVCache;
  readonly facts: BackendFacts;
  readonly modelDigest: string;
  readonly options: InferenceOptions;
  readonly encode: (request: GenerateRequest) => Int32Array;
  readonly prefillRowMs: () => number | undefined;
  /** Throws where the request is over, or the engine. */
  readonly checkOpen: (signal: AbortSignal) => void;
}

/** The engine's PrefixExchange (R27): what it holds of prompts, for other shards and from them. */
export class EnginePrefixes implements PrefixExchange {
  readonly #parts: EnginePrefixesParts;
  readonly #transfers: PrefixTransfers;

  constructor(parts: EnginePrefixesParts) {
    this.#parts = parts;
    this.#transfers = new PrefixTransfers(parts);
  }

  /** For gossip. */
  announced(): string {
    return this.#parts.isOn ? this.#transfers.announced() : '';
  }

  async prefixOf(request: GenerateRequest, signal: AbortSignal): Promise<PrefixLookup | undefined> {
    const { isOn, pages, facts, modelDigest, encode, prefillRowMs, checkOpen } = this.#parts;
    checkOpen(signal);
    if (!isOn) return undefined;
    const prompt = encode(request);
    const adapter = request.adapter === undefined ? '' : adapterKey(request.adapter);
    const [prefillTokenMs, importTokenMs] = [prefillRowMs(), pages.putBackRowMs];
    return {
      promptTokens: prompt.length,
      heldTokens: pages.heldTokens(prefixScope.of({ modelDigest, adapter }), prompt),
      digests: this.#transfers.digestsOf(adapter, prompt.subarray(0, Math.max(0, prompt.length - prefixUnitTokens))),
      bytesPerToken: facts.kvBytesPerToken,
      ...(prefillTokenMs !== undefined && { prefillTokenMs }),
      ...(importTokenMs !== undefined && { importTokenMs }),
    };
  }

  async readPrefix(asked: PrefixPiece, signal: AbortSignal): Promise<PrefixPart> {
    this.#parts.checkOpen(signal);
    return this.#parts.isOn ? this.#transfers.read(asked) : noPrefixExchange.readPrefix(asked, signal);
  }

  async writePrefix(part: PrefixPart, signal: AbortSignal): Promise<PrefixArrival> {
    this.#parts.checkOpen(signal);
    return this.#parts.isOn ? this.#transfers.write(part) : noPrefixExchange.writePrefix(part, signal);
  }
}
