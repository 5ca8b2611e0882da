import type { ToolCall } from '../../../platform/index.js';

/** An item of a response's output that is whole, or `incomplete`. */
export const outputItems = {
  message: (id: string, text: string, status: string): object => ({
    id,
    type: 'message',
    status,
    role: 'assistant',
    content: [outputItems.text(text)],
  }),

  text: (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] }),

  call: (id: string, call: ToolCall, status: string): object => ({
    id,
    type: 'function_call',
    status,
    call_id: call.id,
    name: call.name,
    arguments: call.arguments,
  }),
} as const;
