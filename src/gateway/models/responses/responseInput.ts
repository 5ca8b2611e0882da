import { z } from 'zod';
import type { ChatMessage } from '../../../platform/index.js';
import { listOf } from '../../listOf.js';

const text = z.looseObject({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() });
const content = z.union([z.string(), listOf(text).transform((parts) => parts.map((part) => part.text).join(''))]);
const id = z.string().min(1).max(256);

const message = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content,
});
const call = z.looseObject({ type: z.literal('function_call'), call_id: id, name: z.string().min(1).max(256), arguments: z.string() });
const output = z.looseObject({ type: z.literal('function_call_output'), call_id: id, output: content });

const schema = z.union([z.string(), listOf(z.union([call, output, message]), { min: 1 })], {
  error: 'must be a text, or a list of messages of text, function_call and function_call_output',
});

type Item = Exclude<z.infer<typeof schema>, string>[number];

/** Input and instructions as messages. Calls that follow each other, or a text of the assistant, are one message of it. */
function toMessages(input: z.infer<typeof schema>, instructions: string | undefined): readonly ChatMessage[] {
  const messages: ChatMessage[] = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  if (typeof input === 'string') return [...messages, { role: 'user', content: input }];
  for (const item of input) {
    const next = toMessage(item);
    const last = messages.at(-1);
    const isMore = next.toolCalls !== undefined && last?.role === 'assistant';
    if (isMore) messages.splice(-1, 1, { ...last, toolCalls: [...(last.toolCalls ?? []), ...(next.toolCalls ?? [])] });
    else messages.push(next);
  }
  return messages;
}

function toMessage(item: Item): ChatMessage {
  if ('output' in item && item.type === 'function_call_output')
    return { role: 'tool', content: (item as z.infer<typeof output>).output, toolCallId: (item as z.infer<typeof output>).call_id };
  if (item.type === 'function_call') {
    const { call_id, name, arguments: json } = item as z.infer<typeof call>;
    return { role: 'assistant', content: '', toolCalls: [{ id: call_id, name, arguments: json }] };
  }
  const { role, content: said } = item as z.infer<typeof message>;
  return { role: role === 'developer' ? 'system' : role, content: said };
}

/** The items of a response's input: a text is the user's. */
export const responseInput = { schema, toMessages } as const;
