/** Base of the keys: above every vocabulary. Keys of three tokens beyond 2^53 may fall together: a draft is then worse, never an answer. */
const base = 1 << 18;

/** Tokens that must have stood together before for what followed them to be a draft. */
const contextTokens = 3;

/**
 * Drafts how an answer goes on (R26, strategy `lookup`): as the text went on the last time that its newest three tokens stood together, in
 * the prompt or in the answer itself; what reaches the end of the text goes on with the draft's own beginning, round and round as an answer does that repeats itself. Costs no model; good where an answer quotes what it was given. Memory: one entry a token.
 */
export class PromptLookup {
  readonly #tokens: number[];
  /** Where the tokens after the last occurrence of three begin. */
  readonly #followers = new Map<number, number>();
  #indexed = 0;

  constructor(prompt: Iterable<number>) {
    this.#tokens = [...prompt];
  }

  /** The answer has grown. */
  push(token: number): void {
    this.#tokens.push(token);
  }

  /** Up to so many tokens; empty where nothing is known. */
  draft(tokensMax: number): readonly number[] {
    this.#index();
    const from = this.#followers.get(this.#keyBefore(this.#tokens.length));
    if (from === undefined) return [];
    const known = this.#tokens.slice(from, from + tokensMax);
    return Array.from({ length: tokensMax }, (_, place) => known[place % known.length] as number);
  }

  /** All occurrences but the newest, which is what is asked for. */
  #index(): void {
    for (let end = Math.max(this.#indexed + 1, contextTokens); end < this.#tokens.length; end++) {
      this.#followers.set(this.#keyBefore(end), end);
      this.#indexed = end;
    }
  }

  #keyBefore(end: number): number {
    let key = 0;
    for (let place = end - contextTokens; place < end; place++) key = key * base + (this.#tokens[place] ?? 0);
    return key;
  }
}
