import { z } from 'zod';
import type { JsonValue } from '../../../base/index.js';
import type { ToolDefinition } from '../../../platform/index.js';
import { toolName } from '../toolName.js';
import type { ToolChoice } from '../toToolUse.js';

const json = z.custom<JsonValue>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'must be a JSON schema');
const named = z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) });

/** Tools of a chat completion, and which of them the model may or must call. */
const fields = {
  tools: z
    .array(
      z.looseObject({
        type: z.literal('function'),
        function: z.strictObject({
          name: toolName,
          description: z.string().nullish(),
          parameters: json.nullish(),
          strict: z.boolean().nullish(),
        }),
      }),
    )
    .nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      named,
      z.looseObject({
        type: z.literal('allowed_tools'),
        allowed_tools: z.looseObject({ mode: z.enum(['auto', 'required']), tools: z.array(named) }),
      }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
};

type Given = z.infer<z.ZodObject<typeof fields>>;

/** A function without parameters takes none. */
const noParameters = { type: 'object', properties: {}, additionalProperties: false };

const toTools = (tools: Given['tools']): readonly ToolDefinition[] =>
  (tools ?? []).map(({ function: { name, description, parameters, strict } }) => ({
    name,
    ...(typeof description === 'string' && { description }),
    parameters: parameters ?? noParameters,
    strict: strict ?? false,
  }));

const toChoice = (choice: Given['tool_choice']): ToolChoice => {
  if (choice === null || choice === undefined) return { mode: 'auto' };
  if (typeof choice === 'string') return { mode: choice };
  if ('function' in choice && choice.type === 'function')
    return { mode: 'required', names: [(choice.function as { readonly name: string }).name], isNamed: true };
  const { mode, tools } = choice.allowed_tools as { readonly mode: 'auto' | 'required'; readonly tools: readonly z.infer<typeof named>[] };
  return { mode, names: tools.map((tool) => tool.function.name) };
};

/** The fields as a zod shape, and what they mean. */
export const toolFields = { fields, noParameters, toTools, toChoice } as const;
