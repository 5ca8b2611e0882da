import { assert } from '../src/base/index.js';
import type { EmbeddingBackend } from '../src/platform/index.js';

// Words of one token each.
const fillers = ['the', 'ship', 'lay', 'in', 'the', 'port', 'and', 'its', 'crew', 'went', 'to', 'sea', 'at', 'night'];

/** A text of exactly so many tokens that begins with `name`. */
export function textOfTokens(backend: EmbeddingBackend, name: string, tokens: number): string {
  const words = [name];
  const length = (): number => backend.tokenize(words.join(' ')).length;
  while (length() < tokens) words.push(fillers[words.length % fillers.length] as string);
  assert(length() === tokens, 'a text has the tokens it was filled to', { length: length() });
  return words.join(' ');
}
