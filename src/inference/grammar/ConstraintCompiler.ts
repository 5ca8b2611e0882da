import { LruMap } from '../../base/index.js';
import type { StepBackend } from '../../platform/index.js';
import type { CompiledGrammar } from './CompiledGrammar.js';
import { compileConstraint } from './compileConstraint.js';
import type { GrammarMatcher } from './GrammarMatcher.js';
import type { GrammarSource } from './GrammarSource.js';
import type { GrammarOptions } from './options.js';
import { TokenVocabulary } from './TokenVocabulary.js';

/**
 * The constraints of one model. Reads the vocabulary when the first constraint comes, and keeps the last grammars: requests with the same
 * constraint share one, and what it has learnt.
 */
export class ConstraintCompiler {
  readonly #backend: StepBackend;
  readonly #options: GrammarOptions;
  readonly #grammars: LruMap<string, CompiledGrammar>;
  #vocabulary: TokenVocabulary | undefined;

  constructor(backend: StepBackend, options: GrammarOptions) {
    this.#backend = backend;
    this.#options = options;
    this.#grammars = new LruMap({ entriesMax: options.grammarsMax });
  }

  /** A reader of one answer. Errors: CONSTRAINT_INVALID, CONSTRAINT_NOT_SUPPORTED, CONSTRAINT_TOO_LARGE. */
  matcherFor(constraint: GrammarSource): GrammarMatcher {
    const key = keyOf(constraint);
    const known = key === undefined ? undefined : this.#grammars.get(key);
    const grammar = known ?? compileConstraint(constraint, this.#readVocabulary(), this.#options);
    if (key !== undefined) this.#grammars.set(key, grammar);
    return grammar.matcher();
  }

  #readVocabulary(): TokenVocabulary {
    const { facts } = this.#backend;
    const tokenBytes = (token: number): Uint8Array => this.#backend.tokenBytes(token);
    this.#vocabulary ??= new TokenVocabulary({ size: facts.vocabularySize, endTokens: facts.endTokens, tokenBytes });
    return this.#vocabulary;
  }
}

/** The order of a schema's keys is a part of its meaning here. Undefined: nested too deep to be written, hence refused. */
function keyOf(constraint: GrammarSource): string | undefined {
  try {
    return JSON.stringify(constraint);
  } catch {
    return undefined;
  }
}
