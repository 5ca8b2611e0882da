import { z } from 'zod';
import type { JsonValue } from '../../../base/index.js';
import type { ChatMessage } from '../../../platform/index.js';
import { listOf } from '../../listOf.js';

const text = z.looseObject({ type: z.literal('text'), text: z.string() });
const texts = z.union([z.string(), listOf(text).transform((blocks) => blocks.map((block) => block.text).join(''))]);
const id = z.string().min(1).max(256);
const json = z.custom<JsonValue>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'must be an object');

const use = z.looseObject({ type: z.literal('tool_use'), id, name: z.string().min(1).max(256), input: json });
const result = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: id,
  content: texts.nullish(),
  is_error: z.boolean().nullish(),
});

const said = z.looseObject({
  role: z.literal('user'),
  content: z.union([z.string(), listOf(z.discriminatedUnion('type', [text, result]), { min: 1 })]),
});
const answered = z.looseObject({
  role: z.literal('assistant'),
  content: z.union([z.string(), listOf(z.discriminatedUnion('type', [text, use]), { min: 1 })]),
});

const turn = z.discriminatedUnion('role', [said, answered]);

type Turn = z.infer<typeof turn>;

/** Results of tools are messages of their own, before the text that stands beside them. */
function toMessages(turns: readonly Turn[], system: string | undefined): readonly ChatMessage[] {
  const messages: ChatMessage[] = system === undefined ? [] : [{ role: 'system', content: system }];
  return [...messages, ...turns.flatMap((turn) => (turn.role === 'user' ? ofUser(turn.content) : [ofAssistant(turn.content)]))];
}

function ofUser(content: z.infer<typeof said>['content']): readonly ChatMessage[] {
  if (typeof content === 'string') return [{ role: 'user', content }];
  const results = content.flatMap((block): ChatMessage[] =>
    block.type === 'tool_result' ? [{ role: 'tool', toolCallId: block.tool_use_id, content: resultText(block) }] : [],
  );
  const words = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return words.length === 0 ? results : [...results, { role: 'user', content: words.join('\n\n') }];
}

const resultText = ({ content, is_error }: z.infer<typeof result>): string => (is_error ? `Error: ${content ?? ''}` : (content ?? ''));

function ofAssistant(content: z.infer<typeof answered>['content']): ChatMessage {
  if (typeof content === 'string') return { role: 'assistant', content };
  const words = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  const toolCalls = content.flatMap((block) =>
    block.type === 'tool_use' ? [{ id: block.id, name: block.name, arguments: JSON.stringify(block.input) }] : [],
  );
  return { role: 'assistant', content: words, ...(toolCalls.length > 0 && { toolCalls }) };
}

/**
 * Turns of Anthropic's messages: a text each, or blocks of text, tool_use (assistant) and tool_result (user); and the system prompt, a text
 * or blocks of text.
 */
export const messageTurns = { schema: listOf(turn, { min: 1 }), system: texts, toMessages } as const;
