/** A piece that is wanted of a prefix. */
export interface PrefixPiece {
  readonly digest: string;
  /** Where it begins, bytes. */
  readonly offset: number;
  readonly bytesMax: number;
}

/** What an engine holds of the beginning of a prompt, and by what others may know it (R27). */
export interface PrefixLookup {
  readonly promptTokens: number;
  /** Tokens of the beginning that need not be computed here. */
  readonly heldTokens: number;
  /**
   * Of the first 64 tokens of the prompt, the first 128 and so on, as far as another prompt's rows can serve it (rule R leaves 64 to
   * compute): 16 hex digits each, chained, over model, adapter, build and exact token ids. Equal digests are a hint, never a proof.
   */
  readonly digests: readonly string[];
  /** Bytes that a token's rows take. */
  readonly bytesPerToken: number;
  /** Milliseconds to compute a token of a prompt here, and to take over one that was computed elsewhere; absent before a measurement. */
  readonly prefillTokenMs?: number;
  readonly importTokenMs?: number;
}

/** All that must be the same for rows of one engine to serve another (E4), and which rows they are. */
export interface PrefixHeader {
  /** One of the digests by which the prefix was asked for. */
  readonly digest: string;
  /** By name: library and processor, model, adapter and scale, tokenizer, types of the cache, context and rope settings, streams. */
  readonly facts: { readonly [name: string]: string };
  /** The exact tokens whose rows these are; may go on beyond what was asked for. */
  readonly tokens: Int32Array;
  /** Bytes of the rows together. */
  readonly stateBytes: number;
}

/** A piece of the rows of a prefix. */
export interface PrefixPart {
  readonly header: PrefixHeader;
  /** Where in the rows the piece begins, bytes. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** How much of a prefix has arrived; whole ones are there for every later request. */
export interface PrefixArrival {
  readonly receivedBytes: number;
  readonly isWhole: boolean;
}
