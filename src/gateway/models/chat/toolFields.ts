import { z } from 'zod';
import type { ToolDefinition } from '../../../platform/index.js';
import { listOf } from '../../listOf.js';
import { functionTools } from '../functionTools.js';
import type { ToolChoice } from '../toToolUse.js';

const named = z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) });
const allowed = z.looseObject({
  type: z.literal('allowed_tools'),
  allowed_tools: z.looseObject({ mode: functionTools.allowedMode, tools: listOf(named) }),
});

/** Tools of a chat completion, and which of them the model may or must call. */
const fields = {
  tools: listOf(z.looseObject({ type: z.literal('function'), function: z.strictObject(functionTools.fields) })).nullish(),
  tool_choice: z.union([functionTools.mode, named, allowed]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
};

type Given = z.infer<z.ZodObject<typeof fields>>;

const toTools = (tools: Given['tools']): readonly ToolDefinition[] =>
  (tools ?? []).map((tool) => functionTools.toTool(tool.function, false));

const toChoice = (choice: Given['tool_choice']): ToolChoice => {
  if (typeof choice !== 'object' || choice === null) return functionTools.toChoice(choice);
  if (choice.type === 'function') return functionTools.toChoice({ name: (choice as z.infer<typeof named>).function.name });
  const { mode, tools } = (choice as z.infer<typeof allowed>).allowed_tools;
  return functionTools.toChoice({ mode, names: tools.map((tool) => tool.function.name) });
};

/** The fields as a zod shape, and what they mean. */
export const toolFields = { fields, toTools, toChoice } as const;
