import type { ToolDefinition, ToolUse } from '../../platform/index.js';
import { gatewayError } from '../errors.js';
import type { CompletionLimits } from './CompletionLimits.js';
import { checkCount } from './checkCount.js';

/** What a client lets the model do with its tools. `names`: only these; `isNamed`: this one, once. */
export interface ToolChoice {
  readonly mode: 'none' | 'auto' | 'required';
  readonly names?: readonly string[];
  readonly isNamed?: boolean;
}

/**
 * The tools of a request, as all surfaces have them. Undefined: none were given. The model is told of all of them whatever it may call, so
 * that requests share the beginning of their prompts. Error PARAMETER_BAD.
 */
export function toToolUse(
  tools: readonly ToolDefinition[],
  choice: ToolChoice,
  options: { readonly isParallel: boolean; readonly limits: CompletionLimits },
): ToolUse | undefined {
  checkCount('tools', tools.length, { limits: options.limits, option: 'toolsMax' });
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw bad('tools', `the tool ${twice} is there twice`);
  const unknown = choice.names?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw bad('tool_choice', `tool_choice names ${unknown}, which is none of the tools`);
  if (tools.length === 0 && choice.mode === 'required') throw bad('tool_choice', 'tool_choice asks for a call, but there are no tools');
  if (tools.length === 0) return undefined;
  return {
    tools,
    callable: choice.mode === 'none' ? [] : (choice.names ?? names),
    isRequired: choice.mode === 'required',
    callsMax: options.isParallel && !choice.isNamed ? options.limits.toolCallsMax : 1,
  };
}

const bad = (param: string, message: string) => gatewayError('PARAMETER_BAD', message, { data: { param } });
