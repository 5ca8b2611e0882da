import type { ChatMessage, ToolCall, ToolDefinition } from '../../platform/index.js';
import { toolMarks } from './toolMarks.js';
import { toolPreamble } from './toolPreamble.js';

/**
 * A conversation with tools as one of plain texts, for templates that know none: the tools in the system message, calls in the assistant's
 * words, results in the user's. Results that follow each other are one message, since templates may want the roles to alternate.
 */
export function plainMessages(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): readonly ChatMessage[] {
  const plain: ChatMessage[] = tools.length === 0 ? [] : [{ role: 'system', content: toolPreamble(tools) }];
  for (const [index, message] of messages.entries()) {
    const next = plainMessage(message);
    const isOfSystem = index === 0 && message.role === 'system' && plain.length > 0;
    const isFurtherResult = message.role === 'tool' && messages[index - 1]?.role === 'tool';
    if (isOfSystem) plain[0] = { role: 'system', content: `${next.content}\n\n${plain[0]?.content}` };
    else if (isFurtherResult) plain.push({ role: 'user', content: `${plain.pop()?.content}\n${next.content}` });
    else plain.push(next);
  }
  return plain;
}

function plainMessage({ role, content, toolCalls = [] }: ChatMessage): ChatMessage {
  const text = toolMarks.withoutMarks(content);
  if (role === 'tool') return { role: 'user', content: toolMarks.result(text) };
  const calls = toolCalls.map(written);
  return { role, content: [...(text === '' && calls.length > 0 ? [] : [text]), ...calls].join('\n') };
}

/** As a model writes it; arguments that are no JSON stand as a text. */
const written = ({ name, arguments: given }: ToolCall): string =>
  toolMarks.call(`{"name": ${toolMarks.json(name)}, "arguments": ${toolMarks.json(parsed(given))}}`);

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
};
