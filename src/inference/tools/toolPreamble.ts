import type { ToolDefinition } from '../../platform/index.js';
import { toolMarks } from './toolMarks.js';

/** What a model whose chat template knows no tools is told of them, in the words that Hermes models are trained on. */
export function toolPreamble(tools: readonly ToolDefinition[]): string {
  const lines = tools.map(({ name, description, parameters }) =>
    toolMarks.json({ type: 'function', function: { name, ...(description !== undefined && { description }), parameters } }),
  );
  const form = toolMarks.call('{"name": <function-name>, "arguments": <args-json-object>}');
  return [
    '# Tools',
    '',
    'You may call one or more functions to assist with the user query.',
    '',
    'You are provided with function signatures within <tools></tools> XML tags:',
    '<tools>',
    ...lines,
    '</tools>',
    '',
    'For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:',
    form,
  ].join('\n');
}
