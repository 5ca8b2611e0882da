import { RE2JS } from 're2js';
import { LruMap } from '../../base/index.js';
import type { EvaluationContext } from './EvaluationContext.js';

const compiled = new LruMap<string, RE2JS | 'invalid'>({ entriesMax: 256 });
const literalCharacter = /[A-Za-z0-9\s]/;

/**
 * A regular expression in RE2's syntax (linear time, so no text can stall a shard), compiled once; undefined with warning 1543 where
 * it does not compile.
 */
export function compilePattern(pattern: string, ignoreCase: boolean, context: EvaluationContext): RE2JS | undefined {
  const key = `${ignoreCase ? 'i' : 'c'}${pattern}`;
  let found = compiled.get(key);
  if (found === undefined) {
    found = tryCompile(pattern, ignoreCase);
    compiled.set(key, found);
  }
  if (found !== 'invalid') return found;
  context.warn(1543, 'invalid regular expression; the syntax is RE2');
  return undefined;
}

const tryCompile = (pattern: string, ignoreCase: boolean): RE2JS | 'invalid' => {
  try {
    return RE2JS.compile(pattern, RE2JS.DOTALL | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0));
  } catch {
    return 'invalid';
  }
};

/** LIKE: `%` any characters, `_` one, backslash takes the next literally; the whole text must match. */
export function matchesLike(text: string, pattern: string, ignoreCase: boolean, context: EvaluationContext): boolean {
  return compilePattern(likeToRegex(pattern), ignoreCase, context)?.matches(text) ?? false;
}

const likeToRegex = (pattern: string): string => {
  let regex = '';
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i] as string;
    if (character === '%') regex += '.*';
    else if (character === '_') regex += '.';
    else if (character === '\\' && i + 1 < pattern.length) regex += escapeCharacter(pattern[++i] as string);
    else regex += escapeCharacter(character);
  }
  return regex;
};

const escapeCharacter = (character: string): string =>
  literalCharacter.test(character) || character > '\x7f' ? character : `\\${character}`;
