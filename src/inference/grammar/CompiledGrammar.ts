import { LruMap } from '../../base/index.js';
import type { CompileBudget } from './CompileBudget.js';
import { GrammarAutomaton, type GrammarState } from './GrammarAutomaton.js';
import { GrammarMatcher, type GrammarReader } from './GrammarMatcher.js';
import type { Network } from './Network.js';
import type { TokenVocabulary } from './TokenVocabulary.js';

/** A constraint for one vocabulary. What one request learns of the automaton, the next one with the same constraint finds. */
export class CompiledGrammar implements GrammarReader {
  readonly vocabulary: TokenVocabulary;
  readonly #automaton: GrammarAutomaton;
  readonly #budget: CompileBudget;
  #masks: LruMap<GrammarState, Uint32Array>;
  #masksGeneration = 0;

  constructor(network: Network, vocabulary: TokenVocabulary, budget: CompileBudget) {
    this.vocabulary = vocabulary;
    this.#automaton = new GrammarAutomaton(network, budget);
    this.#budget = budget;
    this.#masks = this.#newMasks();
  }

  /** A reader of one answer, at its beginning. */
  matcher(): GrammarMatcher {
    return new GrammarMatcher(this, this.#automaton.start());
  }

  read(from: GrammarState, bytes: Uint8Array): GrammarState | null {
    this.#automaton.beginStep();
    let state: GrammarState | null = this.#automaton.refresh(from);
    for (const byte of bytes) {
      state = this.#automaton.next(state, byte);
      if (state === null) return null;
    }
    return state;
  }

  allowed(from: GrammarState): Uint32Array {
    this.#automaton.beginStep();
    const state = this.#automaton.refresh(from);
    if (this.#masksGeneration !== this.#automaton.generation) this.#masks = this.#newMasks();
    const known = this.#masks.get(state);
    if (known !== undefined) return known;
    const mask = this.#computeMask(state);
    this.#masks.set(state, mask);
    return mask;
  }

  #newMasks(): LruMap<GrammarState, Uint32Array> {
    this.#masksGeneration = this.#automaton.generation;
    return new LruMap({ entriesMax: this.#budget.options.masksMax });
  }

  /** Walks the tree of tokens beside the automaton; where the automaton ends, the subtree is skipped. */
  #computeMask(start: GrammarState): Uint32Array {
    const { nodeByte, nodeDepth, nodeSkip, nodeToken, sameBytes, depthMax, endTokens, size } = this.vocabulary;
    const mask = new Uint32Array((size + 31) >>> 5);
    const path = new Array<GrammarState>(depthMax + 1).fill(start);
    for (let node = 0; node < nodeByte.length; ) {
      const depth = nodeDepth[node] as number;
      const state = this.#automaton.next(path[depth - 1] as GrammarState, nodeByte[node] as number);
      if (state === null) {
        node = nodeSkip[node] as number;
        continue;
      }
      path[depth] = state;
      for (let token = nodeToken[node] as number; token >= 0; token = sameBytes[token] as number) allow(mask, token);
      node++;
    }
    if (start.complete) for (const token of endTokens) allow(mask, token);
    return mask;
  }
}

function allow(mask: Uint32Array, token: number): void {
  const word = token >>> 5;
  mask[word] = (mask[word] as number) | (1 << (token & 31));
}
