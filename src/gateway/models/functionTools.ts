import { z } from 'zod';
import type { JsonValue } from '../../base/index.js';
import type { ToolDefinition } from '../../platform/index.js';
import { toolName } from './toolName.js';
import type { ToolChoice } from './toToolUse.js';

/** A JSON schema as any surface takes it; what is in it is the engine's to check. */
const schema = z.custom<JsonValue>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON schema',
);

/** A function as chat completions and responses describe it. */
const fields = {
  name: toolName,
  description: z.string().nullish(),
  parameters: schema.nullish(),
  strict: z.boolean().nullish(),
};

type Given = z.infer<z.ZodObject<typeof fields>>;

/** A function without parameters takes none. */
const noParameters = { type: 'object', properties: {}, additionalProperties: false };

/** `isStrict`: what a function is that does not say. */
const toTool = ({ name, description, parameters, strict }: Given, isStrict: boolean): ToolDefinition => ({
  name,
  ...(typeof description === 'string' && { description }),
  parameters: parameters ?? noParameters,
  strict: strict ?? isStrict,
});

const mode = z.enum(['none', 'auto', 'required']);
const allowedMode = z.enum(['auto', 'required']);

/** A choice as a surface reads it from its own shape: a mode, one function by its name, or some of them. */
type Choice = z.infer<typeof mode> | { readonly name: string } | { readonly mode: z.infer<typeof allowedMode>; readonly names: string[] };

const toChoice = (choice: Choice | null | undefined): ToolChoice => {
  if (choice === null || choice === undefined) return { mode: 'auto' };
  if (typeof choice === 'string') return { mode: choice };
  return 'name' in choice ? { mode: 'required', names: [choice.name], isNamed: true } : choice;
};

/** What the tools of chat completions and of responses have in common, whose shapes differ by a level. */
export const functionTools = { schema, fields, toTool, mode, allowedMode, toChoice } as const;
