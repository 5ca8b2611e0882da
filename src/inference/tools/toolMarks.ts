import { toolCallForm } from '../../platform/index.js';

const close = '</tool_call>';
const marks = [toolCallForm.opening, close, '<tool_response>', '</tool_response>', '<tools>', '</tools>'];
const anyMark = new RegExp(`<(?=(?:${marks.map((mark) => mark.slice(1)).join('|')}))`, 'g');

/**
 * The marks around tools, calls and results in a prompt. They are plain text to a model, so that a text that holds one could pass for a call
 * or for a result: in every content that comes from outside their first character is written as in HTML.
 */
export const toolMarks = {
  withoutMarks: (content: string): string => content.replace(anyMark, '&lt;'),

  /** JSON in which no mark can stand: `<` only occurs in strings, and may be escaped there. */
  json: (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c'),

  call: (json: string): string => `${toolCallForm.opening}\n${json}\n${close}`,

  result: (content: string): string => `<tool_response>\n${content}\n</tool_response>`,
} as const;
