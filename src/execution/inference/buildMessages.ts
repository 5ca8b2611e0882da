import { attributeOf, isArray, toText } from '../../aql/index.js';
import type { JsonValue } from '../../base/index.js';
import type { ChatMessage } from '../../platform/index.js';

/** What the parts of one INFER say, evaluated. `context` undefined: the call has no CONTEXT. */
export interface InferParts {
  readonly prompt: JsonValue;
  readonly system: JsonValue;
  readonly context: JsonValue | undefined;
}

const contextInstruction =
  'Answer the question from the numbered passages alone. If they do not contain the answer, say that the passages do not say.';

/**
 * The chat messages of a call. Passages come numbered and delimited in the order of the list, before the question: the same list begins
 * with the same text, so a cached prefix serves it. Nothing is cut; what is too long is the engine's CONTEXT_LENGTH_EXCEEDED.
 */
export function buildMessages(parts: InferParts): readonly ChatMessage[] {
  const passages = parts.context === undefined ? [] : passagesOf(parts.context);
  const given = parts.system === null ? undefined : toText(parts.system);
  const system = given ?? (parts.context === undefined ? undefined : contextInstruction);
  const question = toText(parts.prompt);
  const content = passages.length === 0 ? question : `${passages.map(framed).join('\n')}\n\nQuestion: ${question}`;
  const user: ChatMessage = { role: 'user', content };
  return system === undefined ? [user] : [{ role: 'system', content: system }, user];
}

/** Names of the passages for `detail.citations`: an object's `id`, `_id` or `_key`, else the passage's number. */
export function citationsOf(context: JsonValue): readonly JsonValue[] {
  const list = listOf(context).filter((item) => item !== null);
  return list.map((item, i) => attributeOf(item, 'id') ?? attributeOf(item, '_id') ?? attributeOf(item, '_key') ?? i + 1);
}

const listOf = (context: JsonValue): readonly JsonValue[] => (isArray(context) ? context : context === null ? [] : [context]);

const passagesOf = (context: JsonValue): readonly string[] =>
  listOf(context)
    .filter((item) => item !== null)
    .map((item) => {
      const text = attributeOf(item, 'text');
      return typeof text === 'string' ? text : toText(item);
    });

/** A passage cannot close its own delimiter. */
const framed = (text: string, index: number): string =>
  `<passage number="${index + 1}">\n${text.replaceAll('</passage', '<\\/passage')}\n</passage>`;
