import { assert } from '../../base/index.js';
import type { GrammarState } from './GrammarAutomaton.js';
import type { TokenVocabulary } from './TokenVocabulary.js';

/** A grammar as its matchers use it. */
export interface GrammarReader {
  readonly vocabulary: TokenVocabulary;
  /** The state after some bytes; null = no text of the grammar goes on so. */
  read(from: GrammarState, bytes: Uint8Array): GrammarState | null;
  /** One bit a token, the end tokens included; shared, not to be changed. */
  allowed(from: GrammarState): Uint32Array;
}

/**
 * Follows one answer through a grammar, token by token. At any point some token is allowed. Errors of all methods: CONSTRAINT_TOO_LARGE,
 * when the text has too many readings.
 */
export class GrammarMatcher {
  readonly #grammar: GrammarReader;
  #state: GrammarState;

  constructor(grammar: GrammarReader, start: GrammarState) {
    this.#grammar = grammar;
    this.#state = start;
  }

  /** The answer satisfies the constraint as it is: an end token is allowed. */
  get isComplete(): boolean {
    return this.#state.complete;
  }

  /** Nothing but the end is possible. */
  get mustEnd(): boolean {
    return this.#state.configurations.length === 0;
  }

  /** End tokens exactly when complete; other control tokens never. */
  allows(token: number): boolean {
    const { endTokens, tokenBytes } = this.#grammar.vocabulary;
    if (endTokens.has(token)) return this.isComplete;
    const bytes = tokenBytes(token);
    return bytes.length > 0 && this.#grammar.read(this.#state, bytes) !== null;
  }

  /** One bit a token: bit `token & 31` of word `token >>> 5`. Shared, not to be changed. */
  allowed(): Uint32Array {
    return this.#grammar.allowed(this.#state);
  }

  /** Takes a text token that is allowed. */
  advance(token: number): void {
    const state = this.#grammar.read(this.#state, this.#grammar.vocabulary.tokenBytes(token));
    assert(state !== null, 'a token that the constraint forbids is not drawn', { token });
    this.#state = state;
  }
}
