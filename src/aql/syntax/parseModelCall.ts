import type { EmbedExpression, Expression, InferExpression, RerankExpression } from './Ast.js';
import { notSupported } from './notSupported.js';
import type { TokenCursor } from './TokenCursor.js';

/** What a model call reads through: the expression parser, at the level of unary expressions. */
export interface UnaryReader {
  parseUnary(): Expression;
  parseObject(): Expression;
}

type Tail = { -readonly [Name in 'domain' | 'adapter' | 'system' | 'schema' | 'context' | 'options']?: Expression };

const tailWords = ['DOMAIN', 'ADAPTER', 'SYSTEM', 'SCHEMA', 'CONTEXT', 'OPTIONS', 'STREAM'] as const;

const startsModelCall = (cursor: TokenCursor, word: string, ahead: number): boolean => {
  if (!cursor.isWord(word, ahead) || cursor.peek(ahead).kind !== 'name') return false;
  const model = cursor.peek(ahead + 1).kind;
  return model === 'string' || model === 'bind';
};

/**
 * INFER, EMBED and RERANK are keywords only before a string or a single-`@` bind parameter, where an identifier never stands in AQL;
 * LLM is one only before an INFER or EMBED that itself qualifies. Everywhere else they are names (R14).
 */
export function isModelCall(cursor: TokenCursor): boolean {
  if (startsModelCall(cursor, 'RERANK', 0)) return true;
  const ahead = cursor.isWord('LLM') && cursor.peek().kind === 'name' ? 1 : 0;
  return startsModelCall(cursor, 'INFER', ahead) || startsModelCall(cursor, 'EMBED', ahead);
}

/** Reads the model call that `isModelCall` saw. */
export function parseModelCall(cursor: TokenCursor, reader: UnaryReader): InferExpression | EmbedExpression | RerankExpression {
  const at = cursor.peek().start;
  cursor.acceptWord('LLM');
  const { word } = cursor.next();
  const model = reader.parseUnary();
  if (word === 'EMBED') return parseEmbed(cursor, reader, { at, model });
  if (word === 'RERANK') return parseRerank(cursor, reader, { at, model });
  const prompt = parsePart(cursor, reader, 'a prompt after the model');
  return { kind: 'infer', at, model, prompt, ...parseTail(cursor, reader) };
}

function parseEmbed(cursor: TokenCursor, reader: UnaryReader, head: { readonly at: number; readonly model: Expression }): EmbedExpression {
  const input = parsePart(cursor, reader, 'a text or an array of texts after the model');
  if (!cursor.acceptWord('OPTIONS')) return { kind: 'embed', ...head, input };
  return { kind: 'embed', ...head, input, options: reader.parseObject() };
}

function parseRerank(
  cursor: TokenCursor,
  reader: UnaryReader,
  head: { readonly at: number; readonly model: Expression },
): RerankExpression {
  const query = parsePart(cursor, reader, 'a query after the model');
  cursor.expectWord('OVER');
  const list = parsePart(cursor, reader, 'an array of texts or objects after OVER');
  const top = cursor.acceptWord('TOP') && { top: parsePart(cursor, reader, 'a number after TOP') };
  const options = cursor.acceptWord('OPTIONS') && { options: reader.parseObject() };
  return { kind: 'rerank', ...head, query, list, ...top, ...options };
}

/** One operand; where it is missing the message names the operand and not the tokens that could begin one. */
function parsePart(cursor: TokenCursor, reader: UnaryReader, what: string): Expression {
  const token = cursor.peek();
  const missing = token.kind === 'end' || token.kind === 'keyword' || [')', ']', '}', ','].includes(token.text);
  const literal = ['TRUE', 'FALSE', 'NULL', 'NOT', 'LIKE'].includes(token.word);
  if (missing && !literal) throw cursor.unexpected([what]);
  return reader.parseUnary();
}

function parseTail(cursor: TokenCursor, reader: UnaryReader): Tail {
  const tail: Tail = {};
  while (true) {
    const word = tailWords.find((candidate) => cursor.isWord(candidate));
    if (word === undefined) return tail;
    const { start: at } = cursor.next();
    const place = { text: cursor.text, at };
    if (word === 'STREAM') throw notSupported(place, 'INFER … STREAM', 'R14');
    if (word === 'CONTEXT' && cursor.isWord('EACH') && cursor.isKeyword('IN', 2)) throw notSupported(place, 'CONTEXT EACH', 'R16');
    const name = word.toLowerCase() as Lowercase<typeof word>;
    if (tail[name] !== undefined) throw cursor.failAt(at, `${word} is given twice`);
    if ((word === 'ADAPTER' && tail.domain) || (word === 'DOMAIN' && tail.adapter))
      throw cursor.failAt(at, 'DOMAIN and ADAPTER exclude each other: an adapter is named, or a subject is');
    tail[name] = word === 'OPTIONS' ? reader.parseObject() : parsePart(cursor, reader, `an expression after ${word}`);
  }
}
