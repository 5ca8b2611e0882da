import { z } from 'zod';
import type { ChatMessage } from '../../../platform/index.js';
import { listOf } from '../../listOf.js';

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });
const content = z.union([z.string(), listOf(textPart).transform((parts) => parts.map(({ text }) => text).join(''))]);
const id = z.string().min(1).max(256);

const call = z.looseObject({
  id,
  type: z.literal('function').optional(),
  function: z.looseObject({ name: z.string().min(1).max(256), arguments: z.string() }),
});

const told = z
  .looseObject({ role: z.enum(['system', 'developer', 'user']), content })
  .transform(({ role, content }): ChatMessage => ({ role: role === 'developer' ? 'system' : role, content }));

/** An assistant that only calls has no text. */
const answered = z
  .looseObject({ role: z.literal('assistant'), content: content.nullish(), tool_calls: z.array(call).max(1_024).nullish() })
  .refine(({ content, tool_calls }) => typeof content === 'string' || (tool_calls?.length ?? 0) > 0, {
    path: ['content'],
    message: 'an assistant says something, or calls tools',
  })
  .transform(({ role, content, tool_calls }): ChatMessage => {
    const toolCalls = (tool_calls ?? []).map((each) => ({ id: each.id, name: each.function.name, arguments: each.function.arguments }));
    return { role, content: content ?? '', ...(toolCalls.length > 0 && { toolCalls }) };
  });

const result = z
  .looseObject({ role: z.literal('tool'), tool_call_id: id, content })
  .transform(({ role, tool_call_id, content }): ChatMessage => ({ role, content, toolCallId: tool_call_id }));

const byRole = new Map<unknown, z.ZodType<ChatMessage>>([
  ['system', told],
  ['developer', told],
  ['user', told],
  ['assistant', answered],
  ['tool', result],
]);

/** A message of a chat completion, checked by its role, so that the error names the field that is wrong in it. */
export const chatMessage = z.looseObject({ role: z.string() }).transform((given, context): ChatMessage => {
  const schema = byRole.get(given.role);
  const read = schema?.safeParse(given);
  if (read?.success) return read.data;
  const issues = read?.error.issues ?? [{ path: ['role'], message: `there is no role ${given.role.slice(0, 40)}` }];
  for (const { path, message } of issues) context.addIssue({ code: 'custom', path: [...path], message });
  return z.NEVER;
});
