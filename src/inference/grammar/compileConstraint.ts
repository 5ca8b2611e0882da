import { assertNever, type JsonValue, utf8 } from '../../base/index.js';
import { inferenceError } from '../errors.js';
import { buildNetwork } from './buildNetwork.js';
import { CompileBudget } from './CompileBudget.js';
import { CompiledGrammar } from './CompiledGrammar.js';
import { choiceOfTexts } from './choiceOfTexts.js';
import { expr, type Rules } from './Expression.js';
import type { GrammarSource } from './GrammarSource.js';
import { jsonRules } from './jsonRules.js';
import type { GrammarOptions } from './options.js';
import { parseGbnf } from './parseGbnf.js';
import { parseRegex } from './parseRegex.js';
import { SchemaCompiler } from './SchemaCompiler.js';
import type { TokenVocabulary } from './TokenVocabulary.js';
import { toolCallRules } from './toolCallRules.js';

/**
 * Compiles a constraint for one vocabulary; bounded in time and memory for any input.
 * Errors: CONSTRAINT_INVALID, CONSTRAINT_NOT_SUPPORTED, CONSTRAINT_TOO_LARGE.
 */
export function compileConstraint(constraint: GrammarSource, vocabulary: TokenVocabulary, options: GrammarOptions): CompiledGrammar {
  const budget = new CompileBudget(options);
  for (const schema of schemasOf(constraint)) checkNesting(schema, budget);
  budget.check('sourceBytesMax', utf8.encode(JSON.stringify(constraint)).length);
  const network = buildNetwork(rulesOf(constraint, budget), vocabulary.alphabet, budget);
  const grammar = new CompiledGrammar(network, vocabulary, budget);
  grammar.matcher(); // too many readings of the empty text show here and not in an answer
  return grammar;
}

function rulesOf(constraint: GrammarSource, budget: CompileBudget): Rules {
  switch (constraint.kind) {
    case 'toolCalls':
      return toolCallRules(constraint, typeof constraint.text === 'string' ? new Map() : rulesOf(constraint.text, budget), budget);
    case 'json':
      return new Map([...jsonRules, ['root', expr.rule('json.container')]]);
    case 'jsonSchema':
      return new SchemaCompiler(constraint.schema, budget).compile();
    case 'regex':
      return new Map([['root', parseRegex(constraint.pattern, 'whole', budget)]]);
    case 'choice':
      return new Map([['root', choiceOf(constraint.texts)]]);
    case 'gbnf':
      return parseGbnf(constraint.grammar, budget);
    default:
      return assertNever(constraint);
  }
}

function choiceOf(texts: readonly string[]) {
  if (texts.length === 0) throw inferenceError('CONSTRAINT_INVALID', 'a choice has at least one text');
  for (const [index, text] of texts.entries()) {
    if (/\p{Surrogate}/u.test(text))
      throw inferenceError('CONSTRAINT_INVALID', `text ${index} of the choice is not Unicode`, { data: { index } });
  }
  return choiceOfTexts(texts);
}

function schemasOf(constraint: GrammarSource): readonly JsonValue[] {
  if (constraint.kind === 'jsonSchema') return [constraint.schema];
  if (constraint.kind !== 'toolCalls') return [];
  const ofText = typeof constraint.text === 'string' ? [] : schemasOf(constraint.text);
  return [...constraint.tools.map(({ parameters }) => parameters), ...ofText];
}

/** Without recursion: what is too deep must not exhaust the stack here. */
function checkNesting(schema: JsonValue, budget: CompileBudget): void {
  let level: readonly JsonValue[] = [schema];
  for (let depth = 0; level.length > 0; depth++) {
    budget.check('nestingMax', depth);
    budget.step(level.length);
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}
